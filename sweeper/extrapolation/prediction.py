"""The forecast: each setting of a sweep at a worker count, and the best of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from sweeper.extrapolation.estimate import Estimate
from sweeper.extrapolation.measured_runs import Run, Setting
from sweeper.extrapolation.predicted_curves import Curves, PredictedCurve
from sweeper.extrapolation.step_time import step_times
from sweeper.plan.equivalence import NOT_OF_THE_TIME
from sweeper.ranking.cost import SECONDS_PER_HOUR
from sweeper.spec import DOLLARS

_PROMISING = 0.5  # chance to qualify, from which on a setting is ranked


@dataclass(frozen=True)
class PredictedTimes:
    """What a run of a setting takes at a worker count: of a step, in all, and its dollars; None without a price.

    `measured` where such steps were taken, so that their time is no prediction.
    """

    setting: Setting
    workers: int
    step_seconds: Estimate
    seconds: Estimate
    images_per_second: Estimate
    dollars: Estimate | None
    measured: bool


@dataclass(frozen=True)
class Prediction:
    """What a setting would come to at a worker count; nothing of it is measured, at most its `curve` elsewhere.

    `area` is over the axis that was asked for; `area_dollars` is None without a price.
    """

    times: PredictedTimes
    curve: PredictedCurve
    area: Estimate
    area_dollars: Estimate | None

    @property
    def setting(self) -> Setting:
        """The setting."""
        return self.times.setting

    @property
    def workers(self) -> int:
        """The worker count."""
        return self.times.workers

    @property
    def step_seconds(self) -> Estimate:
        """Seconds of a step."""
        return self.times.step_seconds

    @property
    def seconds(self) -> Estimate:
        """Seconds of training in all."""
        return self.times.seconds

    @property
    def dollars(self) -> Estimate | None:
        """What the training costs; None without a price."""
        return self.times.dollars

    @property
    def chance(self) -> float:
        """Chance to qualify, between 0 and 1."""
        return self.curve.chance


@dataclass(frozen=True, kw_only=True)
class _Count:
    """A worker count, and of how many `settings` what is said.

    `unknown` counts those of which too little is known, or which diverged; `too_large` those whose batch is too large
    or too small for so many workers. `measured` where the sweep has such trials.
    """

    workers: int
    settings: int
    unknown: int
    too_large: int
    measured: bool


@dataclass(frozen=True, kw_only=True)
class CountForecast(_Count):
    """A worker count with its promising settings, best first."""

    ranking: tuple[Prediction, ...]


@dataclass(frozen=True, kw_only=True)
class CountTimes(_Count):
    """A worker count with the times of all kinds of steps, shortest training first."""

    times: tuple[PredictedTimes, ...]


class Forecaster:
    """Learns from runs of at least two worker counts; `over` is an axis, `price` dollars per worker and hour.

    Over dollars a price is needed. Of settings whose losses do not follow from the global batch it knows the times.
    `counts` are those of complete runs, `timed_counts` those among them that had their cores or GPUs for themselves.
    """

    def __init__(
        self, runs: Sequence[Run], threshold: float | None, over: str = "seconds", price: float | None = None
    ) -> None:
        self._over, self._price = over, price
        settings = list(dict.fromkeys(run.setting for run in runs))
        self._settings = [setting for setting in settings if not setting.differs]
        self._timed = _unlike_in_time([setting for setting in settings if setting.differs])
        self._curves = Curves([run for run in runs if not run.setting.differs], threshold)
        self._times = step_times(runs)
        self.counts = sorted({run.workers for run in runs if run.complete})
        self.timed_counts = sorted({run.workers for run in runs if run.complete and run.timed})

    def at(self, workers: int) -> CountForecast:
        """The settings whose losses follow at a worker count, by area, those of a small chance to qualify left out."""
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

    def times_at(self, workers: int) -> CountTimes:
        """The times of the settings whose losses do not follow; those that take the same time are one."""
        fits = [setting for setting in self._timed if setting.can_run(workers)]
        found = [one for setting in fits if (one := self.times(setting, workers))]
        return CountTimes(
            workers=workers,
            times=tuple(sorted(found, key=lambda one: one.seconds.value)),
            settings=len(self._timed),
            unknown=len(fits) - len(found),
            too_large=len(self._timed) - len(fits),
            measured=workers in self.counts,
        )

    def predict(self, setting: Setting, workers: int) -> Prediction | None:
        """One setting; None where it diverged, and where too little is known of its curve or its steps."""
        curve, times = self._curves.of(setting, workers), self.times(setting, workers)
        if curve is None or times is None:
            return None
        area_seconds, per_second = curve.area_steps * times.step_seconds, self._per_second(workers)
        area_dollars = None if per_second is None else area_seconds * per_second
        areas = {"seconds": area_seconds, "images": curve.area_images, DOLLARS: area_dollars}
        area = areas.get(self._over, curve.area_steps)
        assert area is not None, "a price is needed over dollars"
        return Prediction(times, curve, area, area_dollars)

    def times(self, setting: Setting, workers: int) -> PredictedTimes | None:
        """What one setting takes; None where its kind of steps was taken by fewer than two worker counts."""
        model = self._times.get(setting.time)
        if model is None:
            return None
        share, per_second = setting.share(workers), self._per_second(workers)
        step = model.seconds(workers, share)
        seconds = step * setting.steps(workers)
        rate = Estimate(setting.images_of(workers) / seconds.value, seconds.reach)
        dollars = None if per_second is None else seconds * per_second
        return PredictedTimes(setting, workers, step, seconds, rate, dollars, model.measured(workers, share))

    def _per_second(self, workers: int) -> float | None:
        return None if self._price is None else self._price * workers / SECONDS_PER_HOUR


def _unlike_in_time(settings: Iterable[Setting]) -> list[Setting]:
    """The first of those that take the same time, with none of the values that make no difference to it."""
    found: dict[Hashable, Setting] = {}
    for setting in settings:
        kind = (setting.time, setting.batch_size, setting.global_batch_size, setting.images, setting.own_steps)
        values = tuple(one for one in setting.values if one[0].partition(".")[0] not in NOT_OF_THE_TIME)
        found.setdefault(kind, replace(setting, values=values))
    return list(found.values())
