"""The table of operations: the mean seconds of a step's phases by worker count, of trials whose steps are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dashboards.figures.tables import LEARNING_RATE, WORKERS, TrialTable
from dashboards.figures.tables.csv_text import csv_text
from dashboards.figures.tables.phases import in_order_of_a_step
from engine.config import BUDGETS
from engine.protocol import OFF_THE_CLOCK
from sweeper.errors import FigureError
from sweeper.ranking import Candidate, sort_key
from sweeper.spec.axes import SEED
from sweeper.store import Store

MAXIMUM_SERIES = 7  # as many as there are colours
# Parameters that change what is learnt or for how long, and not the work of a step.
_SAME_STEP = {WORKERS, LEARNING_RATE, SEED, *BUDGETS, "initial_weights", "evaluate_every", "checkpoint_every"}
_SAME_STEP |= {"exchange.start", "schedule"}


@dataclass(frozen=True)
class OperationRow:
    """A worker count of a series: the median over its `trials`, phase by phase, of the mean seconds of a step.

    `shared` where they are `oversubscribed` trials, for no others have trained on so many workers.
    """

    workers: int
    trials: int
    per_step: Mapping[str, float]
    shared: bool = False


@dataclass(frozen=True)
class OperationSeries:
    """Trials with the same `key`: the parameters that vary and change the work of a step; fewest workers first."""

    key: Mapping[str, Any]
    rows: tuple[OperationRow, ...]
    has_winner: bool = False

    @property
    def weight(self) -> tuple[bool, int, int]:
        """What it is shown for where there are too many: a group's winner, then worker counts, then trials."""
        return self.has_winner, len(self.rows), sum(row.trials for row in self.rows)


@dataclass(frozen=True)
class OperationTable:
    """The operations of a sweep; `phases` are the names that occur in a step, in its order."""

    trials: TrialTable
    phases: tuple[str, ...]
    series: tuple[OperationSeries, ...]

    @property
    def shown(self) -> tuple[OperationSeries, ...]:
        """As many of the series as a picture can show."""
        heaviest = sorted(self.series, key=lambda one: one.weight, reverse=True)[:MAXIMUM_SERIES]
        return tuple(one for one in self.series if one in heaviest)

    @property
    def shown_phases(self) -> tuple[str, ...]:
        """The phases that occur in the series that are shown."""
        seen = {name for series in self.shown for row in series.rows for name in row.per_step}
        return tuple(name for name in self.phases if name in seen)

    @property
    def notes(self) -> list[str]:
        """Which series are not shown, and which points are of trials that shared cores."""
        notes = []
        if len(self.series) > MAXIMUM_SERIES:
            notes.append(
                f"{MAXIMUM_SERIES} of {len(self.series)} series: those of winners first, "
                "then those with the most worker counts and trials"
            )
        if shared := sorted({row.workers for series in self.shown for row in series.rows if row.shared}):
            notes.append(f"ranks shared cores or GPUs at {', '.join(map(str, shared))} workers")
        return notes


def operation_table(store: Store, trials: TrialTable) -> OperationTable:
    """What a step takes, phase by phase; a series of worker counts for each batch size, and for each further parameter.

    Learning rates and seeds change no step: of trials that differ in nothing else, the median is taken. Steps
    do not include evaluations and checkpoints, and derived trials have made none.

    Raises:
        FigureError: none of these trials has recorded phases and steps.
        StoreError: the store cannot be read.
    """
    own = [one for one in store.trials.candidates(trials.sweep, "steps") if not one.derived_from and one.seconds]
    found = store.views.phases([one.trial for one in own])
    per_step = {trial: _of_steps(phases.per_step) for trial, phases in found.items() if phases.per_step}
    timed = [one for one in own if one.trial in per_step]
    if not timed:
        raise FigureError(
            f"sweep {trials.name!r}: its trials have recorded no phases of steps",
            "wait until a trial of the sweeper's own training has ended; commands and imports have none",
        )
    names = _telling(timed)
    members: dict[str, list[Candidate]] = {}
    for one in timed:
        members.setdefault(repr([one.parameters.get(name) for name in names]), []).append(one)
    alike = sorted(members.values(), key=lambda some: [sort_key(some[0].parameters.get(name)) for name in names])
    winners = {row.trial for row in trials.rows if row.winner}
    series = tuple(_series(some, names, per_step, winners) for some in alike)
    phases = in_order_of_a_step({name for seconds in per_step.values() for name in seconds})
    return OperationTable(trials, tuple(phases), series)


def _telling(trials: Sequence[Candidate]) -> list[str]:
    """The parameters that vary among these trials and change the work of a step, in the order of the plan."""
    names = dict.fromkeys(name for one in trials for name in one.parameters)
    return [
        name
        for name in names
        if name not in _SAME_STEP
        and not name.startswith("schedule.")
        and len({repr(one.parameters.get(name)) for one in trials}) > 1
    ]


def _series(
    trials: Sequence[Candidate],
    names: Iterable[str],
    per_step: Mapping[str, Mapping[str, float]],
    winners: Iterable[str],
) -> OperationSeries:
    of_count: dict[int, list[Candidate]] = {}
    for one in trials:
        of_count.setdefault(one.parameters[WORKERS], []).append(one)
    rows = tuple(_row(workers, of_count[workers], per_step) for workers in sorted(of_count))
    parameters = trials[0].parameters
    key = {name: parameters[name] for name in names if name in parameters}
    return OperationSeries(key, rows, not {one.trial for one in trials}.isdisjoint(winners))


def _row(workers: int, trials: Sequence[Candidate], per_step: Mapping[str, Mapping[str, float]]) -> OperationRow:
    alone = [one for one in trials if not one.oversubscribed]
    taken = [per_step[one.trial] for one in alone or trials]
    names = dict.fromkeys(name for seconds in taken for name in seconds)
    middle = {name: median(seconds[name] for seconds in taken if name in seconds) for name in names}
    return OperationRow(workers, len(taken), middle, shared=not alone)


def _of_steps(per_step: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds for name, seconds in per_step.items() if name not in OFF_THE_CLOCK}


def operations_csv(table: OperationTable) -> str:
    """A line for each worker count of each series."""
    names = list(dict.fromkeys(name for series in table.series for name in series.key))
    lines = (
        [*map(series.key.get, names), row.workers, row.trials, *map(row.per_step.get, table.phases)]
        for series in table.series
        for row in series.rows
    )
    return csv_text([*names, "workers", "trials", *(f"{name}_seconds_per_step" for name in table.phases)], lines)
