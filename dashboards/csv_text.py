"""The tables as CSV text: a header and a row each, empty where there is no value, every digit of a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from dashboards.frames import (
    AccuracyRow,
    AccuracyTable,
    Comparison,
    CoordinateTable,
    CurveRow,
    CurveTable,
    PhaseTable,
    ScalingTable,
    TrialRow,
    TrialTable,
)

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
Lines = Iterable[Sequence[Any]]


def trials_csv(table: TrialTable) -> str:
    """A line a trial, or setting: what heatmap and histogram are drawn from."""
    groups = list(dict.fromkeys(name for group in table.groups for name in group.key if name != "workers"))
    others = list(dict.fromkeys(name for row in table.rows for name in row.others))
    header = [*groups, *_setting_names(table.batch_name), *others, *_result_names(table.over)]
    lines = (
        [*(group.key.get(name) for name in groups), *_setting(row), *map(row.others.get, others), *_result(row)]
        for group in table.groups
        for row in group.rows
    )
    return _text(header, lines)


def curves_csv(table: CurveTable) -> str:
    """A line a loss point of the trials that stand for their groups."""
    return _along(table, "loss", [row.losses for row in table.rows])


def accuracies_csv(table: AccuracyTable) -> str:
    """A line an evaluation of the trials that stand for their groups."""
    return _along(table, "accuracy", [row.accuracies for row in table.rows])


def phases_csv(table: PhaseTable) -> str:
    """A line a group, with seconds by phase."""
    keys = _keys(table.trials)
    lines = (
        [*map(row.group.key.get, keys), row.trial.trial if row.trial else None, *map(row.seconds.get, table.phases)]
        for row in table.rows
    )
    return _text([*keys, "trial", *(f"{name}_seconds" for name in table.phases)], lines)


def scaling_csv(table: ScalingTable) -> str:
    """A line a worker count of each series."""
    keys = list(dict.fromkeys(name for series in table.series for name in series.key))
    lines = (
        [
            *map(series.key.get, keys),
            row.workers,
            row.throughput,
            row.trials,
            row.speedup,
            row.efficiency,
            row.best.trial if row.best else None,
            row.to_threshold,
        ]
        for series in table.series
        for row in series.rows
    )
    measured = ["images_per_second", "trials", "speedup", "efficiency", "best_trial", "seconds_to_threshold"]
    return _text([*keys, "workers", *measured], lines)


def coordinates_csv(table: CoordinateTable) -> str:
    """A line a trial, with all that varies."""
    names = [dimension.name for dimension in table.dimensions]
    lines = ([row.trial.trial, *row.values, *_result(row.trial)[1:]] for row in table.rows)
    return _text(["trial", *names, *_result_names(table.trials.over)[1:]], lines)


def comparison_csv(table: Comparison) -> str:
    """A line a setting of both sweeps, with the difference of areas."""
    sides = [f"{side}_{what}" for side in ("first", "second") for what in ("trial", "outcome", "area")]
    lines = (
        [
            cell.workers,
            cell.batch_size,
            cell.learning_rate,
            *_side(cell.first, cell.areas[0]),
            *_side(cell.second, cell.areas[1]),
            cell.difference,
            cell.relative,
        ]
        for cell in table.cells
    )
    return _text(["workers", table.batch_name, "learning_rate", *sides, "difference", "relative"], lines)


def _along(table: CurveTable | AccuracyTable, name: str, values: Sequence[Sequence[float]]) -> str:
    """A line a value along the table's axis; `values` are those of each of its rows."""
    keys = _keys(table.trials)
    rows: list[CurveRow | AccuracyRow] = [*table.rows]
    lines = (
        [*map(row.group.key.get, keys), row.trial.trial if row.trial else None, at, value]
        for row, of_row in zip(rows, values, strict=True)
        for at, value in zip(row.positions, of_row, strict=True)
    )
    return _text([*keys, "trial", table.trials.over, name], lines)


def _setting_names(batch_name: str) -> list[str]:
    return ["workers", batch_name, "learning_rate"]


def _result_names(over: str) -> list[str]:
    return [
        "trial",
        "state",
        "outcome",
        f"area_{over}",
        "minimum_loss",
        "seconds",
        "images",
        "winner",
        "repeats",
        "derived",
    ]


def _setting(row: TrialRow) -> list[Any]:
    return [row.workers, row.batch_size, row.learning_rate]


def _result(row: TrialRow) -> list[Any]:
    measured = [row.area, row.minimum_loss, row.seconds, row.images]
    return [row.trial, row.state.value, row.outcome.value, *measured, row.winner, row.repeats, row.derived]


def _side(row: TrialRow | None, area: float | None) -> list[Any]:
    return [None, None, None] if row is None else [row.trial, row.outcome.value, area]


def _keys(table: TrialTable) -> list[str]:
    return list(dict.fromkeys(name for group in table.groups for name in group.key))


def _text(header: Sequence[str], lines: Lines) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_plain, header))
    writer.writerows([_plain(value) for value in line] for line in lines)
    return file.getvalue()


def _plain(value: Any) -> Any:
    """Whole digits of numbers, true and false in small letters; a text that a spreadsheet would run gets a quote."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(_BEGINS_FORMULA):
        return f"'{value}"
    return value
