"""Tables as CSV text: a header and a row each, empty where there is no value, every digit of a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from dashboards.figures.tables.trials import TrialRow, TrialTable

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """The header and the lines, with a quote before a text that a spreadsheet would run as a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_plain, header))
    writer.writerows([_plain(value) for value in line] for line in lines)
    return file.getvalue()


def trials_csv(table: TrialTable, not_ruled_out: Collection[str] | None = None) -> str:
    """A line for each trial, or setting: what heatmap and histogram are drawn from.

    A last column says which are `not_ruled_out`, where these are given; it is empty in groups without one.
    """
    told = not_ruled_out or ()
    judged = [any(row.trial in told for row in group.rows) for group in table.groups]
    last = [] if not_ruled_out is None else ["not_ruled_out"]
    groups = [name for name in group_names(table) if name != "workers"]
    others = list(dict.fromkeys(name for row in table.rows for name in row.others))
    header = [*groups, "workers", table.batch_name, "learning_rate", *others, "trial", *result_names(table.over), *last]
    lines = (
        [
            *map(group.key.get, groups),
            row.workers,
            row.batch_size,
            row.learning_rate,
            *map(row.others.get, others),
            row.trial,
            *result_values(row),
            *(row.trial in told if known else None for _ in last),
        ]
        for group, known in zip(table.groups, judged, strict=True)
        for row in group.rows
    )
    return csv_text(header, lines)


def group_names(table: TrialTable) -> list[str]:
    """The parameters that tell the groups apart."""
    return list(dict.fromkeys(name for group in table.groups for name in group.key))


def result_names(over: str) -> list[str]:
    """Columns of what came of a trial; see `result_values`."""
    measured = [f"area_{over}", "area_is_bound", "minimum_loss", "seconds", "images"]
    return ["state", "outcome", *measured, "winner", "repeats", "derived", "at_chance"]


def result_values(row: TrialRow) -> list[Any]:
    """What came of a trial, in the order of `result_names`."""
    measured = [row.area, row.area_is_bound, row.minimum_loss, row.seconds, row.images]
    return [row.state.value, row.outcome.value, *measured, row.winner, row.repeats, row.derived, row.at_chance]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(_BEGINS_FORMULA):
        return f"'{value}"
    return value
