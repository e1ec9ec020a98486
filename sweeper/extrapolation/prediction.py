"""The forecast: each setting of a sweep at a worker count, and the best of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from sweeper.extrapolation.estimate import Estimate
from sweeper.extrapolation.measured_runs import Run, Setting
from sweeper.extrapolation.predicted_curves import Curves, PredictedCurve
from sweeper.extrapolation.step_time import Cell, StepTimes, cells_of
from sweeper.ranking.cost import SECONDS_PER_HOUR
from sweeper.spec import DOLLARS

_PROMISING = 0.5  # chance to qualify, from which on a setting is ranked


@dataclass(frozen=True)
class Prediction:
    """What a setting would come to at a worker count; nothing of it is measured, at most its `curve` elsewhere.

    `area` is over the axis that was asked for; `dollars` and `area_dollars` are None without a price.
    """

    setting: Setting
    workers: int
    curve: PredictedCurve
    area: Estimate
    step_seconds: Estimate
    seconds: Estimate
    dollars: Estimate | None
    area_dollars: Estimate | None

    @property
    def chance(self) -> float:
        """Chance to qualify, between 0 and 1."""
        return self.curve.chance


@dataclass(frozen=True)
class CountForecast:
    """A worker count: the promising settings, best first, and how many there are with the others.

    `unknown` counts those of which too little is known, or which diverged; `too_large` those whose batch is too large
    or too small for so many workers. `measured` where the sweep has such trials.
    """

    workers: int
    ranking: tuple[Prediction, ...]
    settings: int
    unknown: int
    too_large: int
    measured: bool


class Forecaster:
    """Learns from runs of at least two worker counts; `over` is an axis, `price` dollars per worker and hour.

    Over dollars a price is needed.
    """

    def __init__(
        self, runs: Sequence[Run], threshold: float | None, over: str = "seconds", price: float | None = None
    ) -> None:
        self._over, self._price = over, price
        self._settings = list(dict.fromkeys(run.setting for run in runs))
        self._curves = Curves(runs, threshold)
        self._times = _step_times(runs)
        self.counts = sorted({run.workers for run in runs if run.complete})

    def at(self, workers: int) -> CountForecast:
        """All settings of the sweep at a worker count, by area, those of a small chance to qualify left out."""
        fits = [setting for setting in self._settings if setting.can_run(workers)]
        found = [one for setting in fits if (one := self.predict(setting, workers))]
        promising = [one for one in found if one.chance >= _PROMISING]
        return CountForecast(
            workers=workers,
            ranking=tuple(sorted(promising, key=lambda one: one.area.value)),
            settings=len(self._settings),
            unknown=len(fits) - len(found),
            too_large=len(self._settings) - len(fits),
            measured=workers in self.counts,
        )

    def predict(self, setting: Setting, workers: int) -> Prediction | None:
        """One setting; None where it diverged, and where too little is known of its curve or its steps."""
        curve, times = self._curves.of(setting, workers), self._times.get(setting.time)
        if curve is None or times is None:
            return None
        step = times.seconds(workers, setting.share(workers))
        seconds, area_seconds = step * setting.steps(workers), curve.area_steps * step
        per_second = None if self._price is None else self._price * workers / SECONDS_PER_HOUR
        area_dollars = None if per_second is None else area_seconds * per_second
        areas = {"seconds": area_seconds, "images": curve.area_images, DOLLARS: area_dollars}
        area = areas.get(self._over, curve.area_steps)
        assert area is not None, "a price is needed over dollars"
        dollars = None if per_second is None else seconds * per_second
        return Prediction(setting, workers, curve, area, step, seconds, dollars, area_dollars)


def _step_times(runs: Iterable[Run]) -> dict[Hashable, StepTimes]:
    """A model for each kind of steps that two worker counts or more have taken."""
    by_time: dict[Hashable, list[Run]] = {}
    for run in runs:
        by_time.setdefault(run.setting.time, []).append(run)
    cells: dict[Hashable, dict[Cell, float]] = {time: cells_of(ones) for time, ones in by_time.items()}
    return {
        time: StepTimes(found, by_time[time][0].setting.method)
        for time, found in cells.items()
        if len({workers for workers, _ in found}) > 1
    }
