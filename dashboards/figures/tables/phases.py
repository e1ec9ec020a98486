"""The table of phases: what the time of training went into, per group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dashboards.figures.tables.trials import Outcome, TrialGroup, TrialRow, TrialTable
from engine.protocol import OFF_THE_CLOCK
from sweeper.errors import FigureError
from sweeper.store import Store, TrialPhases

# As they follow each other in a step, then what is beside the steps; others come behind, by name.
_OF_STEPS = ("step", "compute", "wait", "gather", "average", "all-reduce", "update", "broadcast")
_ORDER = (*_OF_STEPS, "report", *OFF_THE_CLOCK)
_OUTCOMES = list(Outcome)
_NOTHING = TrialPhases(None, {})


@dataclass(frozen=True)
class PhaseRow:
    """Seconds by phase of the trial that stands for a group, in the order of the table's `phases`; all of rank 0.

    The trial is the group's best that ran itself (one that is derived took another's losses, and has no phases of its
    own); None where there is none. `seconds` are empty where nothing was recorded, and `per_step`, the mean of a step,
    also where the number of steps is not known.
    """

    group: TrialGroup
    trial: TrialRow | None
    seconds: Mapping[str, float]
    per_step: Mapping[str, float]

    @property
    def total(self) -> float:
        """Seconds of all phases together."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class PhaseTable:
    """One trial's phases per group of `trials`, in the order of its groups; `phases` are the names that occur."""

    trials: TrialTable
    phases: tuple[str, ...]
    rows: tuple[PhaseRow, ...]


def phase_table(store: Store, trials: TrialTable) -> PhaseTable:
    """The phases of the best trial of each group: its winner, else who came nearest; one query.

    Raises:
        FigureError: none of these trials has recorded phases.
        StoreError: the store cannot be read.
    """
    chosen = [_best_of_its_own(group) for group in trials.groups]
    found = store.views.phases([row.trial for row in chosen if row is not None])
    names = {name for phases in found.values() for name in phases.seconds}
    if not names:
        raise FigureError(
            f"sweep {trials.name!r}: the best trials of its groups have recorded no phases",
            "wait until a trial of the sweeper's own training has ended; commands and imports have none",
        )
    order = in_order_of_a_step(names)
    rows = tuple(
        PhaseRow(group, row, _in_order(phases.seconds, order), _in_order(phases.per_step, order))
        for group, row in zip(trials.groups, chosen, strict=True)
        for phases in [found.get(row.trial, _NOTHING) if row else _NOTHING]
    )
    return PhaseTable(trials, tuple(order), rows)


def in_order_of_a_step(names: Iterable[str]) -> list[str]:
    """Names of phases as they follow each other in a step, then those beside the steps; unknown ones last."""
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))


def _best_of_its_own(group: TrialGroup) -> TrialRow | None:
    own = [row for row in group.rows if not row.derived and row.seconds is not None]
    return min(own, key=_place, default=None)


def _place(row: TrialRow) -> tuple[bool, int, float, int]:
    area = row.area if row.outcome.has_area else None
    return (not row.winner, _OUTCOMES.index(row.outcome), area or 0.0, row.position)


def _in_order(seconds: Mapping[str, float], order: list[str]) -> dict[str, float]:
    return {name: seconds[name] for name in order if name in seconds}
