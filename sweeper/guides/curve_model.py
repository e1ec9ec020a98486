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
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

Array: TypeAlias = NDArray[np.float64]

STAGES = (0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93)  # parts of a run
_FEWEST_POINTS = 3  # of a level
_WINDOW = 0.2  # of the points so far make a level
_FEWEST_CURVES, _MOST_CURVES = 4, 96  # that a forecast learns from
_GROWN = 1.3  # times as many curves have the kernels fitted anew
# What a curve may do that is like none before: its rest may differ by so much, in logarithms, for a whole run's rest.
_UNLIKE = 0.3
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
    degrees: int

    def chance(self, limit: float, more_deviation: float = 0.0) -> float:
        """That it comes out at most at a limit."""
        nearby = student.cdf((limit - self.mean) / math.hypot(self.deviation, more_deviation, _LEAST), self.degrees)
        overall = (limit - self.overall_mean) / math.hypot(self.overall_deviation, more_deviation, _LEAST)
        return float((1 - self.apart) * nearby + self.apart * student.cdf(overall, self.degrees))


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
    """What the finished curves say at one stage; a point counts once, so that equal curves do not feign certainty."""

    inputs: dict[tuple[float, ...], list[float]] = field(default_factory=dict)
    outputs: dict[tuple[float, ...], tuple[float, float]] = field(default_factory=dict)
    noises: dict[tuple[float, ...], float] = field(default_factory=dict)
    fitted: int = 0  # curves, when the kernels were
    learnt: int = 0  # curves, when the processes were
    kernels: list[Any] = field(default_factory=list)
    processes: list[tuple[GaussianProcessRegressor, float, float]] = field(default_factory=list)


class CurveModel:
    """Learns from finished curves of a sweep, each at its trial's point, whose coordinates are between 0 and 1."""

    def __init__(self) -> None:
        self._stages = [_Stage() for _ in STAGES]
        self._points: set[tuple[float, ...]] = set()

    def wants(self, point: Sequence[float]) -> bool:
        """Whether a curve at this point would be learnt from: the first one is, of so many points."""
        return len(self._points) < _MOST_CURVES and tuple(point) not in self._points

    def add(self, point: Sequence[float], progress: Array, losses: Array) -> None:
        """A curve that has come to its end, all finite; `progress` is the part of the run before each loss's end."""
        key = tuple(point)
        if not self.wants(point):
            return
        self._points.add(key)
        for part, stage in zip(STAGES, self._stages, strict=True):
            count = max(_FEWEST_POINTS, int(np.searchsorted(progress, part * (1 + _LEAST), side="right")))
            level = level_of(losses[:count])
            if level is None or count >= len(losses):
                continue
            rest = np.maximum(losses[count:], _LEAST)
            stage.inputs[key] = _input(point, level)
            stage.outputs[key] = (math.log(rest.mean()) - level.log, math.log(rest.min()) - level.log)
            stage.noises[key] = level.noise

    def rest(self, point: Sequence[float], stage: int, level: Level) -> Rest | None:
        """What a curve at this level has still to come; None while too few are known."""
        known = self._stages[stage]
        if len(known.inputs) < _FEWEST_CURVES:
            return None
        if known.learnt != len(known.inputs):
            _learn(known, _unlike(stage))
        is_known = tuple(point) in known.inputs
        more = 0.0 if is_known else _OF_ITS_OWN * _unlike(stage) / math.sqrt(len(known.inputs))
        nearby = [_predicted(made, point, level, more) for made in known.processes]
        outputs = np.array(list(known.outputs.values()))
        # One that has not begun to fall says nothing of itself yet.
        least = _UNBEGUN * _unlike(stage) if level.fallen < _BEGUN else more
        overall = zip(level.log + outputs.mean(axis=0), np.maximum(outputs.std(axis=0, ddof=1), least), strict=True)
        apart, degrees = (0.0 if is_known else _APART), len(known.inputs) - 1
        mean, lowest = (
            Outlook(level.log + ratio, deviation, float(every), float(spread), apart, degrees)
            for (ratio, deviation), (every, spread) in zip(nearby, overall, strict=True)
        )
        return Rest(mean, lowest)


def _unlike(stage: int) -> float:
    """How much the logarithms of ratios may differ at a stage among curves of which nothing is known."""
    return _UNLIKE * math.sqrt(1 - STAGES[stage])


def _predicted(
    made: tuple[GaussianProcessRegressor, float, float], point: Sequence[float], level: Level, more: float
) -> tuple[float, float]:
    """A logarithm of a ratio, and its deviation."""
    process, mean, enlarged = made
    ratio, deviation = process.predict([_input(point, level)], return_std=True)
    return mean + float(ratio[0]), math.hypot(enlarged * math.hypot(float(deviation[0]), level.noise), more)


def _input(point: Sequence[float], level: Level) -> list[float]:
    return [*point, level.log / _LEVEL, level.fall / _FALL]


def _learn(stage: _Stage, unlike: float) -> None:
    """Fit the two processes to what is known, their kernels too where it has grown by much."""
    inputs, outputs = np.array(list(stage.inputs.values())), np.array(list(stage.outputs.values()))
    noise = np.array(list(stage.noises.values())) ** 2 + 1e-6
    count = len(inputs)
    fits = count >= _GROWN * stage.fitted
    kernels = [_kernel(inputs, max(unlike, column.std())) for column in outputs.T] if fits else stage.kernels
    stage.processes = []
    for kernel, column in zip(kernels, outputs.T, strict=True):
        process = GaussianProcessRegressor(kernel, alpha=noise, **({} if fits else {"optimizer": None}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # at a bound of its range a length is good enough
            process.fit(inputs, column - column.mean())
        stage.processes.append((process, float(column.mean()), _enlarged(process, column - column.mean())))
    stage.kernels = [process.kernel_ for process, _, _ in stage.processes]
    stage.fitted, stage.learnt = count if fits else stage.fitted, count


def _kernel(inputs: Array, deviation: float) -> Any:
    lengths = RBF([_LONGEST] * inputs.shape[1], (0.1, _LONGEST))
    noise = WhiteKernel((0.1 * deviation) ** 2, ((0.02 * deviation) ** 2, deviation**2))
    return ConstantKernel(deviation**2, "fixed") * lengths + noise


def _enlarged(process: GaussianProcessRegressor, outputs: Array) -> float:
    """By how much errors of leave-one-out are larger than they were said to be, as a root mean square; at least 1."""
    inverse = np.linalg.inv(process.L_ @ process.L_.T)
    errors = (inverse @ outputs) / np.sqrt(np.diag(inverse))  # in deviations
    return max(1.0, float(np.sqrt(np.mean(errors**2))))
