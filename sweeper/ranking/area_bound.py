"""The exact area bound: a trial that can win its group no more is stopped, and the winner stays the grid's.

With losses of at least zero an area only grows. A running trial's area will be at least that so far, plus the least
that may still come: what is left of the axis, times a floor that no loss goes below. Once this exceeds the area of a
qualified trial of its group, the trial cannot have the smallest one. With repeats the same goes for the mean areas of
settings (`sweeper.ranking.partial_means`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sweeper.plan.equivalence import NOT_OF_THE_TIME
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.partial_means import Hopeless, Means, Needed
from sweeper.spec.repeats import Race

logger = logging.getLogger(__name__)

_ENOUGH_WINDOWS = 3  # to tell how fast a trial may go: the first may be slow


class Verdict(Protocol):
    """Why a trial is to be stopped, in words."""

    def __str__(self) -> str: ...


class AreaVerdict(Verdict, Protocol):
    """The same by its area; `bound` is the area that it would have, or at least have."""

    @property
    def bound(self) -> float:
        """In units of loss times those of the axis."""


@dataclass
class Pace:
    """How fast the trials go whose steps take the same time: seconds a step, of the fastest of so many windows."""

    windows: int = 0
    fastest: float = math.inf

    def add(self, seconds: float, steps: int) -> None:
        """Another window."""
        if steps > 0:
            self.windows += 1
            self.fastest = min(self.fastest, seconds / steps)

    @property
    def least(self) -> float:
        """Seconds that a step takes at least, as far as is known: zero before there are a few windows."""
        return self.fastest if self.windows >= _ENOUGH_WINDOWS else 0.0


@dataclass
class RunningCurve:
    """A running trial's curve so far; `steps` and `images` are what it will have in the end, None where unknown.

    `scale` is what a unit of its axis counts: over dollars, what a second of it costs. Trials of one cell share a
    `pace`.
    """

    scale: float
    steps: int | None
    images: int | None
    pace: Pace
    last: LossPoint | None = None
    area: float = 0.0


@dataclass
class AreaBound:
    """The bound for the trials of one sweep.

    The guarantee holds for losses of at least `floor`, and over seconds with a floor above zero for steps that do not
    become faster than in the fastest window so far of any trial that differs in nothing on which a step's time depends;
    of such windows there must be a few. A loss below the floor
    lowers it, one below zero ends the pruning; both are warned about.

    Over dollars `scale` gives what a second costs, of a trial's parameters. Where `repeats` gives seeds, settings are
    compared by their means.
    """

    threshold: float | None
    over: str
    group_by: tuple[str, ...]
    floor: float = 0.0
    scale: Callable[[Mapping[str, Any]], float] = lambda _: 1.0
    repeats: int | Race = 1
    _running: dict[str, RunningCurve] = field(default_factory=dict)
    _paces: dict[Hashable, Pace] = field(default_factory=dict)
    _off: bool = False
    _lowered: bool = False

    def __post_init__(self) -> None:
        self._means = Means(self.threshold, self.group_by, self.repeats)

    def plan(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        """Trials that the sweep has, with their parameters: with repeats, a mean is over all of a setting's."""
        self._means.add(trials)

    def completed(self, candidate: Candidate) -> None:
        """A trial has ended, and may be the one to beat from now on."""
        self._running.pop(candidate.trial, None)
        if candidate.minimum_loss is not None:
            self._look_at(candidate.minimum_loss)
        self._means.ended(candidate)

    def begin(self, trial: str, parameters: Mapping[str, Any], steps: int | None, images: int | None) -> None:
        """An attempt at a trial begins, of so many steps and images in all as far as these are known."""
        self._means.add({trial: parameters})
        self._means.waits(trial)
        pace = self._paces.setdefault(_cell(parameters), Pace())
        self._running[trial] = RunningCurve(self.scale(parameters), steps, images, pace)

    def point(self, trial: str, point: LossPoint) -> AreaVerdict | None:
        """The next point of a running trial; why it should be stopped, None where it may still win."""
        running = self._running.get(trial)
        if running is None or not math.isfinite(point.loss):
            return None
        self._look_at(point.loss)
        before, running.last = running.last, point
        if before is None:  # the first loss counts from zero on, as `sweeper.ranking.curve.integral` has it
            running.area = running.scale * max(0.0, self._position(point)) * point.loss
        else:
            width = self._position(point) - self._position(before)
            running.area += running.scale * width * (before.loss + point.loss) / 2
        step, seconds = (before.step, before.seconds) if before else (0, 0.0)
        running.pace.add(point.seconds - seconds, point.step - step)
        self._means.runs(trial, running.area + self.floor * running.scale * self.left(running))
        return self.hopeless(trial)

    def failed(self, trial: str) -> None:
        """An attempt at a trial has failed: the next one begins anew, and the trial waits until then."""
        self._running.pop(trial, None)
        self._means.waits(trial)

    def hopeless(self, trial: str) -> Hopeless | None:
        """Why a trial that runs or waits should not go on, as far as is known now; None where it may still win."""
        return self._means.lost(trial) or (None if self._off else self._means.beaten(trial))

    @property
    def off(self) -> bool:
        """Whether nothing is pruned any more, since a loss was negative."""
        return self._off

    def running(self, trial: str) -> RunningCurve | None:
        """The curve of a running trial so far."""
        return self._running.get(trial)

    def needed(self, trial: str) -> Needed | None:
        """What a running trial has to come to; None where there is nothing to beat yet."""
        return self._means.needed(trial)

    def left(self, running: RunningCurve) -> float:
        """What surely is still to come of the axis, of a curve that has a point."""
        last = running.last
        assert last is not None
        if self.over == "images":
            return max(0.0, running.images - last.images) if running.images and last.images is not None else 0.0
        steps = max(0, running.steps - last.step) if running.steps else 0
        if self.over == "steps":
            return float(steps)
        return steps * running.pace.least

    def axis_of(self, parameters: Mapping[str, Any], steps: int | None, images: int | None) -> float:
        """What a whole run of a trial that waits takes of the axis at least, 0 where that is not known.

        Over seconds it is known once a trial whose steps take the same time has run.
        """
        pace = self._paces.get(_cell(parameters), Pace())
        begins = RunningCurve(self.scale(parameters), steps, images, pace, LossPoint(0, 0, 0.0, 0.0))
        return begins.scale * self.left(begins)

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
        if self.over in ("seconds", "dollars"):
            return point.seconds
        return float(point.step) if self.over == "steps" else math.nan if point.images is None else float(point.images)


def _cell(parameters: Mapping[str, Any]) -> Hashable:
    """What the time of a step may depend on; values may be of any kind."""
    return frozenset((name, repr(value)) for name, value in parameters.items() if name not in NOT_OF_THE_TIME)
