"""The exact area bound: a trial that can win its group no more is stopped, and the winner stays the grid's.

With losses of at least zero an area only grows. A running trial's area will be at least that so far, plus the least
that may still come: what is left of the axis, times a floor that no loss goes below. Once this exceeds the area of a
qualified trial of its group, the trial cannot have the smallest one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sweeper.curve import LossPoint
from sweeper.ranking import Candidate, Key, group_key, qualifies

logger = logging.getLogger(__name__)

# The bound is added up point by point and the area rounded once: this covers the difference, and ties stay.
_ROUNDING = 1e-9
_ENOUGH_WINDOWS = 3  # to tell how fast a trial may go: the first may be slow


class Verdict(Protocol):
    """Why a trial is to be stopped, in words; `bound` is the area that it would have, or at least have."""

    @property
    def bound(self) -> float:
        """In units of loss times those of the axis."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Hopeless:
    """Why a trial can win no more: its area will be `bound` at least, and `rival` has `area`."""

    bound: float
    rival: str
    area: float

    def __str__(self) -> str:
        return f"its area will be {self.bound:.5g} at least, and trial {self.rival} has {self.area:.5g}"


@dataclass
class _Running:
    """A curve as far as it goes; `steps` and `images` are what it will have in the end, None where unknown."""

    key: Key
    steps: int | None
    images: int | None
    last: LossPoint | None = None
    area: float = 0.0
    windows: int = 0
    fastest: float = math.inf  # seconds a step, of any window so far


@dataclass
class AreaPruner:
    """The bound for the trials of one sweep.

    The guarantee holds for losses of at least `floor`, and over seconds with a floor above zero for steps that do not
    become faster than the fastest window of their trial so far, of which there must be a few. A loss below the floor
    lowers it, one below zero ends the pruning; both are warned about.
    """

    threshold: float | None
    over: str
    group_by: tuple[str, ...]
    floor: float = 0.0
    _best: dict[Key, Candidate] = field(default_factory=dict)
    _running: dict[str, _Running] = field(default_factory=dict)
    _off: bool = False
    _lowered: bool = False

    def completed(self, candidate: Candidate) -> None:
        """A trial has ended, and may be the one to beat from now on."""
        self._running.pop(candidate.trial, None)
        if candidate.minimum_loss is not None:
            self._look_at(candidate.minimum_loss)
        if not qualifies(candidate, self.threshold):
            return
        key = group_key(candidate.parameters, self.group_by)
        best = self._best.get(key)
        assert candidate.area is not None
        if best is None or best.area is None or candidate.area < best.area:
            self._best[key] = candidate

    def begin(self, trial: str, parameters: Mapping[str, Any], steps: int | None, images: int | None) -> None:
        """An attempt at a trial begins, of so many steps and images in all as far as these are known."""
        self._running[trial] = _Running(group_key(parameters, self.group_by), steps, images)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """The next point of a running trial; why it should be stopped, None where it may still win."""
        running = self._running.get(trial)
        if running is None or not math.isfinite(point.loss):
            return None
        self._look_at(point.loss)
        before, running.last = running.last, point
        if before is not None:
            width = self._position(point) - self._position(before)
            running.area += width * (before.loss + point.loss) / 2
            if point.step > before.step:
                running.windows += 1
                running.fastest = min(running.fastest, (point.seconds - before.seconds) / (point.step - before.step))
        best = self._best.get(running.key)
        if self._off or best is None or best.area is None:
            return None
        bound = running.area + self.floor * self._left(running)
        return Hopeless(bound, best.trial, best.area) if bound * (1 - _ROUNDING) > best.area else None

    def _look_at(self, loss: float) -> None:
        if loss < 0:
            if not self._off:
                logger.warning("no trial is pruned from now on: a loss is negative (%g), and areas may shrink", loss)
            self._off = True
        elif loss < self.floor:
            if not self._lowered:
                logger.warning(
                    "a loss of %g is below prune.floor, %g, which follows the losses now; winners may have been pruned",
                    loss,
                    self.floor,
                )
            self._lowered, self.floor = True, loss

    def _position(self, point: LossPoint) -> float:
        """Where a point is on the axis; NaN, with which nothing is ever pruned, where it does not say."""
        if self.over == "seconds":
            return point.seconds
        return float(point.step) if self.over == "steps" else math.nan if point.images is None else float(point.images)

    def _left(self, running: _Running) -> float:
        """What surely is still to come of the axis."""
        last = running.last
        assert last is not None
        if self.over == "images":
            return max(0.0, running.images - last.images) if running.images and last.images is not None else 0.0
        steps = max(0, running.steps - last.step) if running.steps else 0
        if self.over == "steps":
            return float(steps)
        return steps * running.fastest if running.windows >= _ENOUGH_WINDOWS else 0.0
