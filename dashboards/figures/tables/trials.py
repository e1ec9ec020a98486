"""The table of all trials: its types, free of queries and of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState

WORKERS = "workers"
BATCH_SIZE = "batch_size"
GLOBAL_BATCH_SIZE = "global_batch_size"
LEARNING_RATE = "learning_rate"
EPOCHS = "epochs"  # an axis along which figures may run; areas are over images then
MAXIMUM_GROUPS = 64  # more panels, or lines, than a picture can hold


class Outcome(StrEnum):
    """What came of a trial at a threshold; the better first, NO_RESULT covering all that has no area to show."""

    QUALIFIED = "qualified"
    ABOVE_THRESHOLD = "above the threshold"
    AT_CHANCE = "at chance"
    DIVERGED = "diverged"
    OVERSUBSCRIBED = "oversubscribed"
    NO_RESULT = "no result"

    @property
    def has_area(self) -> bool:
        """Whether the trial has the area of a whole curve."""
        return self in (Outcome.QUALIFIED, Outcome.ABOVE_THRESHOLD, Outcome.AT_CHANCE)


class TrialRow(NamedTuple):
    """One trial; `area` in loss times the table's axis, `seconds` of training, None where there is none.

    With repeats it is a setting (`sweeper.ranking.settings`): area and seconds are means over its `repeats` seeds,
    `trial` is the first of them. `batch_size` is what the table's `batch_name` says; it and the rate are None where an
    imported trial has none. `others` are further parameters that vary within a group, by name.
    """

    trial: str
    position: int
    workers: int
    batch_size: Any
    learning_rate: Any
    others: Mapping[str, Any]
    state: TrialState
    outcome: Outcome
    area: float | None
    minimum_loss: float | None
    seconds: float | None
    winner: bool
    repeats: int = 1
    derived: bool = False  # its losses are another trial's
    images: int | None = None  # seen in its seconds
    oversubscribed: bool = False  # its ranks shared cores or GPUs: its seconds are not those of others
    at_chance: bool = False  # it never learnt
    global_batch: bool = False  # its batch was given for all workers together

    @property
    def area_is_bound(self) -> bool:
        """Whether the area is a lower bound, for the trial ended early."""
        return self.area is not None and self.state.ended_early

    @property
    def qualified(self) -> bool:
        """Whether the trial competes."""
        return self.outcome is Outcome.QUALIFIED


@dataclass(frozen=True)
class TrialGroup:
    """The trials that compete with each other, in the order of the plan; `key` has the group's values by name."""

    key: Mapping[str, Any]
    rows: tuple[TrialRow, ...]
    best_minimum_loss: float | None

    @property
    def winner(self) -> TrialRow | None:
        """The qualified trial with the smallest area."""
        return next((row for row in self.rows if row.winner), None)

    @property
    def qualified(self) -> tuple[TrialRow, ...]:
        """The trials that compete, in the order of the plan."""
        return tuple(row for row in self.rows if row.qualified)

    @property
    def nearest(self) -> TrialRow | None:
        """The trial with the lowest finite minimum loss, of any outcome."""
        seen = [row for row in self.rows if row.minimum_loss is not None and math.isfinite(row.minimum_loss)]
        return min(seen, key=lambda row: (row.minimum_loss, row.position), default=None)

    @property
    def best(self) -> TrialRow | None:
        """The trial that stands for the group: its winner, else the nearest."""
        return self.winner or self.nearest


@dataclass(frozen=True)
class TrialTable:
    """The trials of a sweep by group, in numeric order; `over` is the axis of all areas.

    `batch_name` is batch_size (images per worker and step) or global_batch_size (of all workers together), `rate` what
    a worker costs by the hour, in dollars, None where nobody says. Where there are curves and none has an area over
    this axis, `lacks` says so: the problem and the remedy. Figures of curves run `along` another axis where the reader
    asked for it: along epochs, areas being over images.
    """

    sweep: str
    name: str
    over: str
    threshold: float | None
    batch_name: str
    groups: tuple[TrialGroup, ...]
    rate: float | None = None
    lacks: tuple[str, str] | None = None
    other_axis: str | None = None

    @property
    def along(self) -> str:
        """The axis along which figures of curves run."""
        return self.other_axis or self.over

    @property
    def repeats(self) -> int:
        """The most seeds that a setting has."""
        return max((row.repeats for row in self.rows), default=1)

    @cached_property
    def rows(self) -> tuple[TrialRow, ...]:
        """All trials, group after group."""
        return tuple(row for group in self.groups for row in group.rows)


def check_areas(table: TrialTable) -> None:
    """Refuse a table of curves none of which has an area over its axis.

    Raises:
        FigureError: no curve of the table has one.
    """
    if table.lacks:
        problem, remedy = table.lacks
        raise FigureError(problem, remedy)


def check_groups(table: TrialTable) -> None:
    """Refuse a table with more groups than a picture can hold.

    Raises:
        FigureError: there are too many.
    """
    if len(table.groups) > MAXIMUM_GROUPS:
        raise FigureError(
            f"sweep {table.name!r} has {len(table.groups)} groups, a figure shows at most {MAXIMUM_GROUPS}",
            "group by a field with fewer values",
        )
