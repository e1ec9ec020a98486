"""The table of phases: what the time of training went into, per group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dashboards.figures.tables import Outcome, TrialGroup, TrialRow, TrialTable
from dashboards.figures.tables.csv_text import csv_text, group_names
from sweeper.errors import FigureError
from sweeper.store import Store

# As they follow each other in a step, then what is beside the steps; others come behind, by name.
_ORDER = ("compute", "gather", "average", "all-reduce", "update", "broadcast", "report", "evaluation", "checkpoint")
_OFF_THE_CLOCK = ("evaluation", "checkpoint")  # are in no curve's seconds
_OUTCOMES = list(Outcome)


@dataclass(frozen=True)
class PhaseRow:
    """Seconds by phase of the trial that stands for a group, in the order of the table's `phases`; all of rank 0.

    The trial is the group's best that ran itself (one that is derived took another's losses, and has no phases of its
    own); None where there is none. `seconds` are empty where nothing was recorded.
    """

    group: TrialGroup
    trial: TrialRow | None
    seconds: Mapping[str, float]

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
    names = {name for phases in found.values() for name in phases}
    if not names:
        raise FigureError(
            f"sweep {trials.name!r}: the best trials of its groups have recorded no phases",
            "wait until a trial of the sweeper's own training has ended; commands and imports have none",
        )
    order = sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    rows = tuple(
        PhaseRow(group, row, _in_order(found.get(row.trial, {}) if row else {}, order))
        for group, row in zip(trials.groups, chosen, strict=True)
    )
    return PhaseTable(trials, tuple(order), rows)


def _best_of_its_own(group: TrialGroup) -> TrialRow | None:
    own = [row for row in group.rows if not row.derived and row.seconds is not None]
    return min(own, key=_place, default=None)


def _place(row: TrialRow) -> tuple[bool, int, float, int]:
    area = row.area if row.outcome.has_area else None
    return (not row.winner, _OUTCOMES.index(row.outcome), area or 0.0, row.position)


def _in_order(seconds: Mapping[str, float], order: list[str]) -> dict[str, float]:
    return {name: seconds[name] for name in order if name in seconds}


def phase_name(phase: str) -> str:
    """A phase, and whether it is part of training seconds."""
    return f"{phase} (not in training seconds)" if phase in _OFF_THE_CLOCK else phase


def phases_csv(table: PhaseTable) -> str:
    """A line for each group, with seconds by phase."""
    names = group_names(table.trials)
    lines = (
        [*map(row.group.key.get, names), row.trial.trial if row.trial else None, *map(row.seconds.get, table.phases)]
        for row in table.rows
    )
    return csv_text([*names, "trial", *(f"{name}_seconds" for name in table.phases)], lines)
