"""The table of operations: the mean seconds of a step's phases, by worker count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import WORKERS, TrialTable
from dashboards.figures.tables.csv_text import csv_text
from dashboards.figures.tables.phases import PhaseRow, phase_table
from engine.protocol import OFF_THE_CLOCK
from sweeper.errors import FigureError
from sweeper.store import Store


@dataclass(frozen=True)
class OperationRow:
    """A worker count of a series: mean seconds of a step by phase, of the trial that stands for the count's group."""

    workers: int
    trial: str
    per_step: Mapping[str, float]


@dataclass(frozen=True)
class OperationSeries:
    """The worker counts of the groups that share `key`, which they have beside workers; smallest count first."""

    key: Mapping[str, Any]
    rows: tuple[OperationRow, ...]


@dataclass(frozen=True)
class OperationTable:
    """The operations of a sweep; `phases` are the names that occur, in the order of a step."""

    trials: TrialTable
    phases: tuple[str, ...]
    series: tuple[OperationSeries, ...]


def operation_table(store: Store, trials: TrialTable) -> OperationTable:
    """What the steps of each group's best trial took, by phase; evaluations and checkpoints are no part of steps.

    Raises:
        FigureError: none of these trials has recorded phases and steps.
        StoreError: the store cannot be read.
    """
    found = phase_table(store, trials)
    members: dict[tuple[tuple[str, Any], ...], list[OperationRow]] = {}
    for row in found.rows:
        if row.trial is not None and row.per_step:
            key = tuple((name, value) for name, value in row.group.key.items() if name != WORKERS)
            members.setdefault(key, []).append(OperationRow(row.trial.workers, row.trial.trial, _of_steps(row)))
    if not members:
        raise FigureError(
            f"sweep {trials.name!r}: the best trials of its groups have recorded no steps",
            "wait until a trial of the sweeper's own training has ended",
        )
    series = [OperationSeries(dict(key), tuple(sorted(rows, key=_workers))) for key, rows in members.items()]
    names = {name for one in series for row in one.rows for name in row.per_step}
    return OperationTable(trials, tuple(name for name in found.phases if name in names), tuple(series))


def _of_steps(row: PhaseRow) -> dict[str, float]:
    return {name: seconds for name, seconds in row.per_step.items() if name not in OFF_THE_CLOCK}


def _workers(row: OperationRow) -> int:
    return row.workers


def operations_csv(table: OperationTable) -> str:
    """A line for each worker count of each series."""
    names = list(dict.fromkeys(name for series in table.series for name in series.key))
    lines = (
        [*map(series.key.get, names), row.workers, row.trial, *map(row.per_step.get, table.phases)]
        for series in table.series
        for row in series.rows
    )
    return csv_text([*names, "workers", "trial", *(f"{name}_seconds_per_step" for name in table.phases)], lines)
