"""Tables that hold several runs: a chart with a column a run, or a long table with a column of runs' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeper.interchange.logs.base import Entry, Keys, Table
from sweeper.interchange.logs.column_names import find_name, plain

_COLUMN = re.compile(r"(?P<run>.+?) - (?P<metric>.+?)(?P<extreme>__(?:MIN|MAX|STD|STDERR))?")
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
    found = {name: match for name in table.names if (match := _COLUMN.fullmatch(name)) and not match["extreme"]}
    loss = find_name("loss", [match["metric"] for match in found.values()], keys.loss)
    if loss is None:
        return None
    runs = {match["run"]: name for name, match in found.items() if match["metric"] == loss}
    shared = [name for name in table.names if not _COLUMN.fullmatch(name)]
    return [RunTable(run, _of_column(table, name, loss, shared), {}) for run, name in runs.items()]


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


def _values(entries: Iterable[Entry], name: str) -> list[str]:
    found = (str(entry.values[name]) for entry in entries if entry.values and entry.values.get(name) not in ("", None))
    return list(dict.fromkeys(found))


def _of_lines(table: Table, name: str, run: str) -> RunTable:
    entries = tuple(one for one in table.entries if one.values is None or str(one.values.get(name)) == run)
    own = [one.values for one in entries if one.values]
    same = {key: own[0][key] for key in own[0] if key != name and all(one.get(key) == own[0][key] for one in own)}
    return RunTable(run, Table(entries, table.names), same)
