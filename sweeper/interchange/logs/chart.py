"""Tables that hold several runs: a chart with a column a run, or a long table with a column of runs' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeper.interchange.logs.base import Entry, Keys, Table
from sweeper.interchange.logs.column_names import find_name, plain

_EXTREME = re.compile(r"__(?:MIN|MAX|STD|STDERR)$")
_RUN_NAMES = ("run", "run_id", "run_name", "trial", "trial_id", "experiment", "experiment_name", "exp_name")


@dataclass(frozen=True)
class RunTable:
    """What a table says of one of its runs; `parameters` are columns that are the same in all of its lines."""

    run: str
    table: Table
    parameters: Mapping[str, object]


def runs_of(table: Table, keys: Keys) -> list[RunTable] | None:
    """The runs of a table, each with a table of its own; None where it holds one run only."""
    return _columns_of_runs(table, keys) or _lines_of_runs(table)


def _columns_of_runs(table: Table, keys: Keys) -> list[RunTable] | None:
    """A chart: columns `run - metric`, with `__MIN` and `__MAX` beside them."""
    if find_name("loss", table.names, keys.loss) is not None:
        return None
    by_run: dict[str, dict[str, str]] = {}
    for name in table.names:
        run, dash, metric = name.rpartition(" - ")  # a run's own name may have a dash
        if dash and run and not _EXTREME.search(metric):
            by_run.setdefault(run, {})[metric] = name
    found = {run: find_name("loss", metrics, keys.loss) for run, metrics in by_run.items()}
    runs = {run: (loss, by_run[run][loss]) for run, loss in found.items() if loss is not None}
    shared = [name for name in table.names if " - " not in name]
    return [RunTable(run, _of_column(table, name, loss, shared), {}) for run, (loss, name) in runs.items()] or None


def _of_column(table: Table, name: str, metric: str, shared: Sequence[str]) -> Table:
    """One run's column, under the metric's name, with the columns that are of no run."""
    entries = []
    for entry in table.entries:
        if entry.values is None or entry.values.get(name) not in ("", None):
            values = entry.values and {metric: entry.values.get(name), **{one: entry.values.get(one) for one in shared}}
            cut = metric if entry.cut == name else None
            entries.append(replace(entry, values=values, cut=cut))
    return Table(tuple(entries), (metric, *shared))


def _lines_of_runs(table: Table) -> list[RunTable] | None:
    """A long table: lines that tell in a column which run they are of."""
    by_plain = {plain(name): name for name in reversed(table.names)}
    for wanted in _RUN_NAMES:
        name = by_plain.get(wanted)
        runs = _values(table.entries, name) if name is not None else ()
        if name is not None and len(runs) > 1:
            return [_of_lines(table, name, run) for run in runs]
    return None


def _values(entries: Iterable[Entry], name: str) -> list[object]:
    found = (entry.values[name] for entry in entries if entry.values and entry.values.get(name) not in ("", None))
    return list(dict.fromkeys(found))


def _of_lines(table: Table, name: str, run: object) -> RunTable:
    mine = [one for one in table.entries if one.values is None or one.values.get(name) in (run, "", None)]
    own = [one.values for one in mine if one.values and one.values.get(name) == run]
    entries = tuple(
        one if one.values is None or one.values.get(name) else replace(one, values=None, reason=f"has no {name!r}")
        for one in mine
    )
    same = {key: own[0][key] for key in own[0] if key != name and all(one.get(key) == own[0][key] for one in own)}
    return RunTable(str(run), Table(entries, table.names), same)
