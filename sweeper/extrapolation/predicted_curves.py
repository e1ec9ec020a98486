"""The curves of settings at any worker count: those that were measured, else those of the model of losses."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from sweeper.extrapolation.estimate import NORMAL, Estimate
from sweeper.extrapolation.loss_model import BatchAndRate, Losses, LossModel
from sweeper.extrapolation.measured_runs import Run, Setting
from sweeper.plan.trial import TrialState

_ROUNDING = 0.01  # relative deviation of areas of one curve, where nobody has trained one twice
_LEAST_ROUNDING = 0.002
_FIGURES = ("area_steps", "minimum_loss")


@dataclass(frozen=True)
class PredictedCurve:
    """A curve's areas over steps and images, its lowest loss, and the chance that it qualifies.

    `measured` where a trial of another worker count has had it.
    """

    area_steps: Estimate
    area_images: Estimate
    minimum_loss: Estimate
    chance: float
    measured: bool


class _Whole(NamedTuple):
    """What the complete runs of one curve come to: means over seeds, and the highest of their lowest losses.

    `chance` is that all seeds qualify, when as many runs of each do as have done.
    """

    area_steps: float
    area_images: float
    mean_loss: float
    minimum_loss: float
    seeds: int
    chance: float


class Curves:
    """Known from runs; seeds of a setting count by their mean, and as diverged where one of them has."""

    def __init__(self, runs: Iterable[Run], threshold: float | None) -> None:
        self._threshold = threshold
        self._runs: dict[Hashable, dict[BatchAndRate, list[Run]]] = {}
        for run in runs:
            point = (run.setting.global_batch(run.workers), run.setting.learning_rate)
            self._runs.setdefault(run.setting.curve, {}).setdefault(point, []).append(run)
        self._models: dict[Hashable, LossModel] = {}
        curves = [runs for by_point in self._runs.values() for runs in by_point.values()]
        self._rounding = {name: _pooled([_scatter(runs, name) for runs in curves]) for name in _FIGURES}

    def of(self, setting: Setting, workers: int) -> PredictedCurve | None:
        """The curve of a setting at a worker count; None where it has diverged, and where too little is known."""
        point = (setting.global_batch(workers), setting.learning_rate)
        known = self._runs.get(setting.curve, {})
        runs = known.get(point, [])
        if _diverged(runs):
            return None
        whole = _whole(runs, self._threshold)
        if whole is None:
            return self._unseen(setting, workers, point, known, runs)
        area, lowest = (self._reach(runs, name, whole.seeds) for name in _FIGURES)
        return PredictedCurve(
            Estimate(whole.area_steps, area),
            Estimate(whole.area_images, area),
            Estimate(whole.minimum_loss, lowest),
            whole.chance,
            measured=True,
        )

    def _reach(self, runs: Sequence[Run], name: str, seeds: int) -> float:
        """Of a mean over seeds: by how much runs of this curve differ, or others do where it has run once."""
        own = _scatter(runs, name)
        deviation = _pooled([own]) if own.degrees else self._rounding[name]
        return NORMAL * deviation / math.sqrt(seeds)

    def _unseen(
        self,
        setting: Setting,
        workers: int,
        point: BatchAndRate,
        known: Mapping[BatchAndRate, Sequence[Run]],
        runs: Sequence[Run],
    ) -> PredictedCurve | None:
        if setting.curve not in self._models:
            self._models[setting.curve] = LossModel(_losses(known))
        losses = self._models[setting.curve].at(point)
        if losses is None:
            return None
        steps = setting.steps(workers)
        so_far = max((run.area_steps or 0.0 for run in runs if run.state is TrialState.PRUNED), default=0.0)
        area = losses.mean * steps
        if area.value < so_far:  # losses are at least zero: the whole area is no smaller
            area = Estimate(so_far, area.reach)
        chance = losses.healthy if self._threshold is None else losses.chance_at_most(self._threshold)
        return PredictedCurve(area, area * (setting.images_of(workers) / steps), losses.lowest, chance, measured=False)


def _diverged(runs: Iterable[Run]) -> bool:
    return any(run.state is TrialState.DIVERGED for run in runs)


def _whole(runs: Iterable[Run], threshold: float | None) -> _Whole | None:
    by_seed = _complete_by_seed(runs)
    if not by_seed:
        return None
    means = [[fmean(value) for value in zip(*map(_figures, ones), strict=True)] for ones in by_seed.values()]
    steps, images, mean_loss, lowest = zip(*means, strict=True)
    chance = math.prod(fmean(_qualifies(run, threshold) for run in ones) for ones in by_seed.values())
    return _Whole(fmean(steps), fmean(images), fmean(mean_loss), max(lowest), len(by_seed), chance)


def _complete_by_seed(runs: Iterable[Run]) -> dict[Hashable, list[Run]]:
    by_seed: dict[Hashable, list[Run]] = {}
    for run in runs:
        if run.complete:
            by_seed.setdefault(run.seed, []).append(run)
    return by_seed


def _figures(run: Run) -> tuple[float, float, float, float]:
    assert run.area_steps is not None
    assert run.steps
    return run.area_steps, run.area_images or 0.0, run.area_steps / run.steps, _lowest(run)


def _lowest(run: Run) -> float:
    return math.inf if run.minimum_loss is None else run.minimum_loss


def _qualifies(run: Run, threshold: float | None) -> bool:
    return threshold is None or _lowest(run) <= threshold


def _losses(known: Mapping[BatchAndRate, Sequence[Run]]) -> dict[BatchAndRate, Losses | None]:
    found: dict[BatchAndRate, Losses | None] = {}
    for point, runs in known.items():
        whole = _whole(runs, None)
        if _diverged(runs):
            found[point] = None
        elif whole:
            found[point] = Losses(whole.mean_loss, whole.minimum_loss)
    return found


class _Scatter(NamedTuple):
    """Sum of squared differences of logarithms, and their degrees of freedom."""

    squares: float
    degrees: int


def _scatter(runs: Iterable[Run], name: str) -> _Scatter:
    """Among runs of one curve and seed, which differ by rounding, and by what chaos makes of it."""
    squares, degrees = 0.0, 0
    for ones in _complete_by_seed(runs).values():
        values = [getattr(run, name) for run in ones if not run.derived]
        logs = [math.log(value) for value in values if value and 0 < value < math.inf]
        if logs:
            squares += float(np.var(logs)) * len(logs)
            degrees += len(logs) - 1
    return _Scatter(squares, degrees)


def _pooled(scatters: Iterable[_Scatter]) -> float:
    """The deviation that they say together; what is usual where they say nothing."""
    squares, degrees = (sum(column) for column in zip(_Scatter(0.0, 0), *scatters, strict=True))
    return max(_LEAST_ROUNDING, math.sqrt(squares / degrees)) if degrees else _ROUNDING
