"""How loss curves go on: learnt from the sweep's own finished ones, by Gaussian processes.

At each of a few stages of a run there are two questions: how low is the mean of the losses that are still to come, and
how low the lowest of them, both against the present level? A Gaussian process a stage answers from the finished curves:
its inputs are the coordinates of the trial, the logarithm of the level and how fast that falls; its outputs are the
logarithms of the two ratios. The noise of a level is that of the mean over its window. Finished curves also
say how good the answers are: each is predicted from the others (the closed form of leave-one-out: Rasmussen and
Williams, Gaussian Processes for Machine Learning, equations 5.10 to 5.12), and where the errors are larger than they
were said to be, all deviations are enlarged by as much. Few curves cannot say what none of them is like: while they are
few a deviation that has nothing to do with them is added. And as curves change from setting to setting by leaps, too,
where a rate is just too high, one whose own curve is not known is, with some chance, like any of them.

A curve that was stopped tells the part that it has. The rest is filled in by what finished curves have done from its
last level on, and counts as noise: the more of a rest is filled in, the less it counts. Of a trial that has not begun
the same is asked from its coordinates alone.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

if TYPE_CHECKING:
    from sklearn.gaussian_process import GaussianProcessRegressor

Array: TypeAlias = NDArray[np.float64]
Point: TypeAlias = tuple[float, ...]
Pair: TypeAlias = tuple[float, float]

STAGES = (0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93)  # parts of a run
_FEWEST_POINTS = 3  # of a level
_WINDOW = 0.2  # of the points so far make a level
_FEWEST_CURVES, _MOST_CURVES = 4, 96  # that a forecast learns from
_GROWN = 1.6  # times as many curves have the kernels fitted anew
# What a curve may do that is like none before: its rest may differ by so much, in logarithms, for a whole run's rest.
_UNLIKE = 0.3
_UNSEEN = 0.3  # the same of the rest of a stopped curve, twice that where it has not begun to fall
_LEVEL, _FALL = (
    0.5,
    0.2,
)  # differences of log levels, and of their falls, that count like the whole range of a parameter
_LONGEST = 0.6  # over which curves are alike, in ranges of a parameter: few that are close are no proof for far ones
# A point without a curve may be one of its own kind: a part of that deviation, less the more curves are known.
_OF_ITS_OWN = 0.4
_BEGUN = 0.05  # fall of the logarithm of the loss since the first points, from which on a run has begun to learn
_UNBEGUN = 0.4  # the part of what curves may do unlike any that holds before
_APART = 0.05  # how often a curve is like none nearby, as beyond the rate at which runs collapse
_EXPLODED = 3.0  # times its first losses
_LEAST = 1e-9  # a loss of zero has no logarithm


class Level(NamedTuple):
    """Where a curve stands: points so far, and of the logarithm of the loss the level, its fall since the window
    before, its deviation, and its fall since the first points.
    """

    points: int
    log: float
    fall: float
    noise: float
    fallen: float


_START = Level(0, 0.0, 0.0, 0.0, 0.0)  # of a curve that has not begun: its logarithms are its own, not ratios


class Outlook(NamedTuple):
    """A logarithm that is to come: its mean and deviation by the curves nearby, and by all of them, whatever theirs.

    The errors have the tails of Student's t of so many `degrees` of freedom. At a point whose own curve is not known
    it may be `apart`, with this chance: not like the curves nearby, but like any.
    """

    mean: float
    deviation: float
    overall_mean: float
    overall_deviation: float
    apart: float
    degrees: float

    def chance(self, limit: float, more_deviation: float = 0.0) -> float:
        """That it comes out at most at a limit."""
        nearby = (limit - self.mean) / math.hypot(self.deviation, more_deviation, _LEAST)
        overall = (limit - self.overall_mean) / math.hypot(self.overall_deviation, more_deviation, _LEAST)
        near, far = stdtr(self.degrees, [nearby, overall])
        return float((1 - self.apart) * near + self.apart * far)


class Rest(NamedTuple):
    """What is still to come of a curve: the logarithms of the mean and of the lowest loss."""

    mean: Outlook
    lowest: Outlook


def stage_of(progress: float) -> int | None:
    """The last stage that a run has come to."""
    reached = [number for number, part in enumerate(STAGES) if progress >= part * (1 - _LEAST)]
    return reached[-1] if reached else None


def level_of(losses: Sequence[float] | Array) -> Level | None:
    """The level at the end of these losses; None where they are too few."""
    count = len(losses)
    if count < _FEWEST_POINTS:
        return None
    width = max(_FEWEST_POINTS, int(_WINDOW * count))
    last = np.maximum(losses[-width:], _LEAST)
    before = np.maximum(losses[max(0, count - 2 * width) : count - width or 1], _LEAST)
    log, noise = math.log(last.mean()), float(last.std() / last.mean() / math.sqrt(width))
    fallen = math.log(np.maximum(losses[:_FEWEST_POINTS], _LEAST).mean()) - log
    return Level(count, log, log - math.log(before.mean()), noise, fallen)


@dataclass
class _Stage:
    """What the curves say at one stage; a point counts once, so that equal curves do not feign certainty."""

    part: float  # of a run that is over
    inputs: dict[Point, list[float]] = field(default_factory=dict)
    outputs: dict[Point, Pair] = field(default_factory=dict)
    noises: dict[Point, float] = field(default_factory=dict)  # of the levels
    unsure: dict[Point, Pair] = field(default_factory=dict)  # deviations of outputs that are partly filled in
    fitted: int = 0  # curves, when the kernels were
    stale: bool = True
    kernels: list[Any] = field(default_factory=list)
    processes: list[tuple[GaussianProcessRegressor, float, float]] = field(default_factory=list)

    @property
    def unlike(self) -> float:
        """How much the logarithms of ratios may differ among curves of which nothing is known."""
        return _UNLIKE * math.sqrt(1 - self.part)

    @property
    def count(self) -> float:
        """Curves that are known, those in part by as much as they tell."""
        own = self.unlike**2
        return sum(own / (own + max(unsure) ** 2) for unsure in self.unsure.values())

    def put(self, point: Point, level: Level, output: Pair, unsure: Pair) -> None:
        """Another curve, or more of one."""
        self.inputs[point], self.outputs[point] = _input(point, level), output
        self.noises[point], self.unsure[point] = level.noise, unsure
        self.stale = True

    def gone_on(self) -> tuple[Pair, Pair]:
        """How finished curves have gone on from here: the means of both logarithms, and their deviations."""
        whole = [output for point, output in self.outputs.items() if not any(self.unsure[point])]
        known = np.array([(0.0, 0.0), *whole])  # a level that stays counts as one of them
        mean, lowest = known.mean(axis=0)
        spread = known.std(axis=0)
        return (float(mean), float(lowest)), (float(spread[0]), float(spread[1]))


class CurveModel:
    """Learns from curves of a sweep, each at its trial's point, whose coordinates are between 0 and 1."""

    def __init__(self) -> None:
        self._stages = [_Stage(part) for part in STAGES]
        self._start = _Stage(0.0)
        self._known: dict[Point, float] = {}  # the part of a run of which each curve is known

    def wants(self, point: Sequence[float], part: float = 1.0) -> bool:
        """Whether a curve at this point would be learnt from, of which this part is known: the longest is."""
        known = self._known.get(tuple(point))
        return len(self._known) < _MOST_CURVES if known is None else part > known

    def add(self, point: Sequence[float], progress: Array, losses: Array) -> None:
        """A curve that has ended, all finite; `progress` is the part of the run before each loss's end.

        Of one that was stopped the last part is below 1. One that explodes is like no other, and passed over.
        """
        key, part = tuple(point), min(1.0, float(progress[-1]))
        if not self.wants(point, part) or _explodes(losses):
            return
        rest = self._filled_in(part, losses) if part < 1 - _LEAST else None
        if part < 1 - _LEAST and rest is None:
            return
        self._known[key] = part
        self._start.put(key, _START, *_to_come(losses, 0.0, part, 0.0, rest))
        for stage in self._stages:
            count = max(_FEWEST_POINTS, int(np.searchsorted(progress, stage.part * (1 + _LEAST), side="right")))
            level = level_of(losses[:count])
            if level is not None and count < len(losses):
                begun = float(progress[count - 1])
                stage.put(key, level, *_to_come(losses[count:], begun, part, level.log, rest))

    def rest(self, point: Sequence[float], stage: int, level: Level) -> Rest | None:
        """What a curve at this level has still to come; None while too few are known."""
        found = self._asked(self._stages[stage], [tuple(point)], level)
        return found[0] if found else None

    def surrounds(self, point: Sequence[float]) -> bool:
        """Whether a point is beyond all known curves in no coordinate: there, curves may change by leaps."""
        known = np.array(list(self._known))
        if not len(known):
            return False
        inside = (known.min(axis=0) - _LEAST <= point) & (point <= known.max(axis=0) + _LEAST)
        return bool(inside.all())

    def whole(self, points: Sequence[Sequence[float]]) -> list[Rest]:
        """What curves that have not begun have to come, at so many points; none while too few are known."""
        return self._asked(self._start, [tuple(point) for point in points], _START) if points else []

    def _asked(self, known: _Stage, points: Sequence[Point], level: Level) -> list[Rest]:
        count = known.count
        if count < _FEWEST_CURVES:
            return []
        if known.stale:
            _learn(known)
        nearby = [_predicted(made, [_input(point, level) for point in points]) for made in known.processes]
        outputs = np.array(list(known.outputs.values()))
        unsure = np.array(list(known.unsure.values()))
        means = level.log + outputs.mean(axis=0)
        spreads = np.sqrt(outputs.var(axis=0, ddof=1) + (unsure**2).mean(axis=0))
        found = []
        for place, point in enumerate(points):
            is_known = self._known.get(point, 0.0) >= 1 - _LEAST
            more = 0.0 if is_known else _OF_ITS_OWN * known.unlike / math.sqrt(count)
            # One that has not begun to fall says nothing of itself yet.
            least = _UNBEGUN * known.unlike if level.fallen < _BEGUN else more
            mean, lowest = (
                Outlook(
                    level.log + float(ratios[place]),
                    math.hypot(enlarged * math.hypot(float(deviations[place]), level.noise), more),
                    float(means[which]),
                    max(float(spreads[which]), least),
                    0.0 if is_known else _APART,
                    count - 1,
                )
                for which, (ratios, deviations, enlarged) in enumerate(nearby)
            )
            found.append(Rest(mean, lowest))
        return found

    def _filled_in(self, part: float, losses: Array) -> tuple[Pair, Pair] | None:
        """The logarithms of the mean and the lowest loss after a stop, and their deviations; None after few points."""
        level, stage = level_of(losses), stage_of(part)
        if level is None or stage is None:
            return None
        (mean, lowest), spreads = self._stages[stage].gone_on()
        unseen = _UNSEEN * math.sqrt(1 - part) * (2 if level.fallen < _BEGUN else 1)
        deviations = math.hypot(spreads[0], unseen), math.hypot(spreads[1], unseen)
        return (level.log + mean, level.log + lowest), deviations


def _explodes(losses: Array) -> bool:
    first, later = losses[:_FEWEST_POINTS], losses[_FEWEST_POINTS:]
    if not len(later):
        return False
    return bool(later.max() > _EXPLODED * first.mean() or first.max() > 3 * _EXPLODED * later[:_FEWEST_POINTS].mean())


def _to_come(
    losses: Array, begun: float, part: float, level: float, rest: tuple[Pair, Pair] | None
) -> tuple[Pair, Pair]:
    """Both logarithms against the `level` of what comes after the part `begun`, seen up to `part`; their deviations."""
    seen = np.maximum(losses, _LEAST)
    if rest is None:
        return (math.log(seen.mean()) - level, math.log(seen.min()) - level), (0.0, 0.0)
    (unseen_mean, unseen_lowest), (mean_deviation, lowest_deviation) = rest
    unseen = (1 - part) * math.exp(unseen_mean)
    whole = (part - begun) * float(seen.mean()) + unseen
    lowest = math.log(seen.min())
    deviation = lowest_deviation if unseen_lowest < lowest + lowest_deviation else 0.0
    outputs = math.log(whole / (1 - begun)) - level, min(lowest, unseen_lowest) - level
    return outputs, (mean_deviation * unseen / whole, deviation)


def _predicted(
    made: tuple[GaussianProcessRegressor, float, float], inputs: Sequence[Sequence[float]]
) -> tuple[Array, Array, float]:
    """Logarithms of ratios, their deviations, and by how much these are enlarged."""
    process, mean, enlarged = made
    ratios, deviations = process.predict(inputs, return_std=True)
    return mean + ratios, deviations, enlarged


def _input(point: Sequence[float], level: Level) -> list[float]:
    return [*point, level.log / _LEVEL, level.fall / _FALL]


def load_early() -> None:
    """Begin to load scikit-learn: that takes seconds, in which the first gangs can start.

    A command that ends meanwhile does not wait for it. Whoever needs it loads it again, and hears what is wrong.
    """
    threading.Thread(target=_load, name="load scikit-learn", daemon=True).start()


def _load() -> None:
    with contextlib.suppress(Exception):
        importlib.import_module("sklearn.gaussian_process")


def _learn(stage: _Stage) -> None:
    """Fit the two processes to what is known, their kernels too where it has grown by much."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor

    inputs, outputs = np.array(list(stage.inputs.values())), np.array(list(stage.outputs.values()))
    noise = np.array(list(stage.noises.values())) ** 2 + 1e-6
    unsure = np.array(list(stage.unsure.values()))
    count = len(inputs)
    fits = count >= _GROWN * stage.fitted
    kernels = [_kernel(inputs, max(stage.unlike, column.std())) for column in outputs.T] if fits else stage.kernels
    stage.processes = []
    for kernel, column, more in zip(kernels, outputs.T, unsure.T, strict=True):
        process = GaussianProcessRegressor(kernel, alpha=noise + more**2, **({} if fits else {"optimizer": None}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # at a bound of its range a length is good enough
            process.fit(inputs, column - column.mean())
        stage.processes.append((process, float(column.mean()), _enlarged(process, column - column.mean())))
    stage.kernels = [process.kernel_ for process, _, _ in stage.processes]
    stage.fitted, stage.stale = count if fits else stage.fitted, False


def _kernel(inputs: Array, deviation: float) -> Any:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    lengths = RBF([_LONGEST] * inputs.shape[1], (0.1, _LONGEST))
    noise = WhiteKernel((0.1 * deviation) ** 2, ((0.02 * deviation) ** 2, deviation**2))
    return ConstantKernel(deviation**2, "fixed") * lengths + noise


def _enlarged(process: GaussianProcessRegressor, outputs: Array) -> float:
    """By how much errors of leave-one-out are larger than they were said to be, as a root mean square; at least 1."""
    inverse = np.linalg.inv(process.L_ @ process.L_.T)
    errors = (inverse @ outputs) / np.sqrt(np.diag(inverse))  # in deviations
    return max(1.0, float(np.sqrt(np.mean(errors**2))))
