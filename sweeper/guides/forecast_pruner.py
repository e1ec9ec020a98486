"""Pruning by forecast: a trial is stopped when it will hardly qualify and win, at a risk that is stated.

The chance that a trial wins is at most the chance that its area comes below that of the best qualified one of its
group, and at most the chance that its loss comes down to the threshold. Both follow from what is known of the curve so
far and from what the sweep's finished curves say of the rest (`sweeper.guides.curve_model`). A trial is stopped when
the smaller chance is below its share of the risk that has not been spent. So the chances of all stopped trials add up
to at most the risk. Trials that wait are judged alike by their settings alone, as soon as the time of their steps is
known from another trial: those that will hardly win do not begin.

The area that is to be beaten is a draw, which another seed would have had otherwise. To win is to have a smaller area
than is to be expected of that setting, so that its deviation over seeds (`sweeper.ranking.noise`) counts as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sweeper.guides.curve_model import Array, CurveModel, Rest, level_of, stage_of
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import AreaBound, AreaVerdict, RunningCurve
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.noise import SeedNoise
from sweeper.ranking.partial_means import Hopeless, Needed
from sweeper.ranking.settings import setting_key

_FEWEST_STEPS = 50  # of a run that may be given up before it begins
# Relative deviation of the areas of a setting's seeds: 1.3 % is usual, 5.8 % was the most of 21 settings.
_SEEDS_DIFFER = 0.06


@dataclass(frozen=True)
class Unlikely:
    """Why a trial will hardly win: its area will be about `bound`, or its lowest loss too high."""

    bound: float
    words: str

    def __str__(self) -> str:
        return self.words


class _Standing(NamedTuple):
    """Of a trial: its area, what is `left` of its axis with the deviation of that logarithm, and its lowest loss."""

    area: float
    left: float
    pace_deviation: float
    lowest: float


@dataclass
class _Course:
    """A running trial's curve, and the last stage at which it was looked at."""

    steps: int | None
    points: list[LossPoint] = field(default_factory=list)
    looked_at: int = -1


class Length(NamedTuple):
    """Steps and images of a whole run, None where nobody knows."""

    steps: int | None
    images: int | None


@dataclass
class ForecastPruner:
    """The exact `bound`, and before it the forecast; `coordinates` are all trials', for `CurveModel`."""

    bound: AreaBound
    risk: float = 0.01
    coordinates: Mapping[str, Sequence[float]] = field(default_factory=dict)
    _model: CurveModel = field(default_factory=CurveModel)
    _courses: dict[str, _Course] = field(default_factory=dict)
    _curves: dict[str, tuple[Array, Array]] = field(default_factory=dict)  # of which the model was told
    _noise: SeedNoise = field(default_factory=SeedNoise)
    _spent: float = 0.0
    _ended: int = 0

    def begin(self, trial: str, parameters: Mapping[str, Any], steps: int | None, images: int | None) -> None:
        """See `AreaBound.begin`."""
        self.bound.begin(trial, parameters, steps, images)
        self._courses[trial] = _Course(steps)

    def plan(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        """See `AreaBound.plan`."""
        self.bound.plan(trials)

    def completed(self, candidate: Candidate) -> None:
        """See `AreaBound.completed`."""
        self.bound.completed(candidate)
        if candidate.complete and candidate.area is not None and not candidate.derived_from:
            self._noise.add(setting_key(candidate.parameters), candidate.area)

    def failed(self, trial: str) -> None:
        """See `AreaBound.failed`."""
        self.bound.failed(trial)

    def hopeless(self, trial: str) -> Hopeless | None:
        """See `AreaBound.hopeless`."""
        return self.bound.hopeless(trial)

    def move(self, coordinates: Mapping[str, Sequence[float]]) -> None:
        """Trials were added, and the coordinates of all have changed with the ranges of their parameters."""
        self.coordinates, self._model = coordinates, CurveModel()
        for trial, (progress, losses) in self._curves.items():
            self._model.add(coordinates[trial], progress, losses)

    def seen(self, trial: str) -> Sequence[LossPoint]:
        """The points of a trial's latest attempt here, until `ended`."""
        course = self._courses.get(trial)
        return course.points if course else ()

    def wants(self, trial: str, part: float = 1.0) -> bool:
        """Whether the curve of a trial would be learnt from, of which this part of its run is known."""
        return trial in self.coordinates and self._model.wants(self.coordinates[trial], part)

    def ended(self, trial: str, curve: Sequence[LossPoint], steps: int | None = None) -> None:
        """A trial has ended, and counts no more among those that share the risk; the curve if it tells something.

        `steps` are those of its whole run, where it was stopped before.
        """
        self._ended += 1
        self._courses.pop(trial, None)
        losses = np.array([point.loss for point in curve])
        whole = steps or (curve[-1].step if curve else 0)
        if trial in self.coordinates and whole and len(curve) and np.isfinite(losses).all():
            progress = np.array([point.step for point in curve]) / whole
            self._curves[trial] = progress, losses
            self._model.add(self.coordinates[trial], progress, losses)

    def steps_of(self, trial: str) -> int | None:
        """The steps of a trial's latest attempt here, until `ended`."""
        course = self._courses.get(trial)
        return course.steps if course else None

    def unlikely(self, waiting: Mapping[str, tuple[Mapping[str, Any], Length]]) -> dict[str, Unlikely]:
        """Which trials that wait will hardly win; each with its parameters and length."""
        if self.bound.off:
            return {}
        axes = {
            trial: self.bound.axis_of(parameters, *length)
            for trial, (parameters, length) in waiting.items()
            if self._may_be_judged(trial, length)
        }
        asked = [trial for trial, axis in axes.items() if axis > 0]
        rests = self._model.whole([self.coordinates[trial] for trial in asked])
        found = {}
        for trial, rest in zip(asked, rests, strict=bool(rests)):
            if verdict := self._verdict(trial, _Standing(0.0, axes[trial], 0.0, math.inf), rest):
                found[trial] = verdict
        return found

    def _may_be_judged(self, trial: str, length: Length) -> bool:
        """Whether a trial's settings alone tell something: not of short runs, and not beyond what was seen."""
        if trial not in self.coordinates or (length.steps is not None and length.steps < _FEWEST_STEPS):
            return False
        return self._model.surrounds(self.coordinates[trial])

    def pruned_elsewhere(self) -> None:
        """Another scheduler, or an earlier run, has pruned a trial: by about its share of the risk."""
        self._spent = min(self.risk, self._spent + self.risk / max(1, len(self.coordinates)))

    def point(self, trial: str, point: LossPoint) -> AreaVerdict | None:
        """See `AreaBound.point`; None too where the forecast knows too little."""
        hopeless = self.bound.point(trial, point)
        course, running = self._courses.get(trial), self.bound.running(trial)
        if hopeless or course is None or running is None or self.bound.off or not math.isfinite(point.loss):
            return hopeless
        course.points.append(point)
        stage = stage_of(point.step / running.steps) if running.steps else None
        if stage is None or stage <= course.looked_at or trial not in self.coordinates:
            return None
        level = level_of([one.loss for one in course.points])
        course.looked_at = stage if level else course.looked_at
        rest = self._model.rest(self.coordinates[trial], stage, level) if level else None
        return self._judge(trial, running, course, rest) if rest else None

    def _judge(self, trial: str, running: RunningCurve, course: _Course, rest: Rest) -> Unlikely | None:
        left, deviation = self._rest_of_axis(running, course)
        lowest = min(one.loss for one in course.points)
        return self._verdict(trial, _Standing(running.area, left, deviation, lowest), rest)

    def _verdict(self, trial: str, now: _Standing, rest: Rest) -> Unlikely | None:
        needed, threshold = self.bound.needed(trial), self.bound.threshold
        area = now.area + now.left * math.exp(rest.mean.mean)
        wins = qualifies = 1.0
        if needed and now.left > 0:
            limit = math.log(max((needed.area - now.area) / now.left, 1e-12))
            own = _SEEDS_DIFFER if needed.waiting else 0.0
            wins = rest.mean.chance(limit, math.hypot(now.pace_deviation, own, self._deviation_of_rival(needed, now)))
        if threshold is not None and threshold > 0 and now.lowest > threshold:
            qualifies = rest.lowest.chance(math.log(threshold))
        chance = min(wins, qualifies)
        if chance >= (self.risk - self._spent) / max(1, len(self.coordinates) - self._ended):
            return None
        self._spent += chance
        if qualifies < wins:
            lowest = f"about {math.exp(rest.lowest.mean):.4g}, and the threshold is {threshold:g}"
            return Unlikely(area, f"its lowest loss will be {lowest} (chance {qualifies:.1g})")
        assert needed
        rival = f"trial {needed.rival} has {needed.rivals:.5g}"
        return Unlikely(area, f"its area will be about {area:.5g}, and {rival} (chance to win {wins:.1g})")

    def _deviation_of_rival(self, needed: Needed, now: _Standing) -> float:
        """Of the logarithm of what is needed of the rest, since the rival's seeds might have come out otherwise.

        All that the rival's sum of areas is off falls on the trial and those that wait with it.
        """
        if needed.area <= now.area:
            return 0.0
        of_sum = self._noise.share * needed.rivals * math.sqrt(needed.seeds)
        return of_sum / (needed.waiting + 1) / (needed.area - now.area)

    def _rest_of_axis(self, running: RunningCurve, course: _Course) -> tuple[float, float]:
        """What is left of the axis, and the deviation of its logarithm: steps may become faster or slower."""
        if self.bound.over in ("images", "steps"):
            return self.bound.left(running), 0.0
        first, last = course.points[0], course.points[-1]
        steps, seconds = np.diff(np.array([(one.step, one.seconds) for one in course.points], dtype=float), axis=0).T
        pace = (last.seconds - first.seconds) / max(1, last.step - first.step)
        deviation = float(np.std(seconds / np.maximum(steps, 1)) / pace / math.sqrt(len(steps))) if pace > 0 else 0.0
        return running.scale * max(0, (running.steps or 0) - last.step) * pace, deviation
