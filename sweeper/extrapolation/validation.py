"""How far forecasts are off: each measured worker count is forecast from the others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from sweeper.extrapolation.measured_runs import Run, Setting
from sweeper.extrapolation.prediction import Forecaster, Prediction
from sweeper.extrapolation.step_time import Cell, by_time, cells_of, step_times
from sweeper.ranking.cost import SECONDS_PER_HOUR
from sweeper.spec import DOLLARS

BEST = 10  # settings by which a forecast is judged


class _Errors:
    """Relative errors of a forecast."""

    errors: tuple[float, ...]

    @property
    def median_error(self) -> float | None:
        """The median of the errors' sizes."""
        return median(map(abs, self.errors)) if self.errors else None

    @property
    def worst_error(self) -> float | None:
        """The largest of the errors' sizes."""
        return max(map(abs, self.errors), default=None)


@dataclass(frozen=True)
class CountCheck(_Errors):
    """A worker count as forecast from other counts, beside what it came to, for its best settings.

    `errors` are relative, (predicted - true) / true, of the areas of the truly best settings, best first; `unpredicted`
    counts those of which nothing could be said, `within` those whose interval has the true area. `chosen_errors` are
    the same of those that were predicted to be best; `regret` is how much larger than the smallest area the true one of
    the predicted winner is, relative, None where that did not qualify.
    """

    workers: int
    others: tuple[int, ...]
    errors: tuple[float, ...]
    within: int
    unpredicted: int
    chosen_errors: tuple[float, ...]
    regret: float | None


class _Truth(NamedTuple):
    """What a setting came to: its mean area over seeds, and whether it qualified."""

    area: float
    qualified: bool


def leave_one_count_out(
    runs: Sequence[Run], threshold: float | None, over: str = "seconds", price: float | None = None
) -> list[CountCheck]:
    """Forecasts each worker count of which two others or more are measured, and which has a setting that qualifies."""
    runs = [run for run in runs if not run.setting.differs]
    counts = sorted({run.workers for run in runs if run.complete and run.timed})
    found = []
    for workers in counts if len(counts) > 2 else ():
        truth = _truth([run for run in runs if run.workers == workers], threshold, over, price)
        if any(one.qualified for one in truth.values()):
            others = [run for run in runs if run.workers != workers]
            found.append(_check(Forecaster(others, threshold, over, price), workers, truth))
    return found


@dataclass(frozen=True)
class TimeCheck(_Errors):
    """The steps of a worker count as forecast from other counts; `errors` are relative, (predicted - true) / true.

    There is one for each kind of step and images per worker; `unpredicted` counts those of which nothing could be said.
    """

    workers: int
    others: tuple[int, ...]
    errors: tuple[float, ...]
    unpredicted: int


def time_errors(runs: Sequence[Run]) -> list[TimeCheck]:
    """The same of steps, for runs whose losses do not follow; of worker counts of which two others are measured."""
    cells = {time: cells_of(ones) for time, ones in by_time(run for run in runs if run.setting.differs).items()}
    counts = sorted({workers for found in cells.values() for workers, _ in found})
    return [_time_check(cells, runs, count, counts) for count in counts] if len(counts) > 2 else []


def _time_check(
    cells: Mapping[Hashable, Mapping[Cell, float]], runs: Sequence[Run], count: int, counts: Sequence[int]
) -> TimeCheck:
    models = step_times([run for run in runs if run.workers != count])
    true = {
        (time, cell): seconds for time, found in cells.items() for cell, seconds in found.items() if cell[0] == count
    }
    errors = [models[time].seconds(*cell).value / true[time, cell] - 1 for time, cell in true if time in models]
    return TimeCheck(count, tuple(one for one in counts if one != count), tuple(errors), len(true) - len(errors))


def _check(forecaster: Forecaster, workers: int, truth: Mapping[Setting, _Truth]) -> CountCheck:
    qualified = [setting for setting, one in truth.items() if one.qualified]
    best = sorted(qualified, key=lambda setting: truth[setting].area)[:BEST]
    predictions = [one for setting in best if (one := forecaster.predict(setting, workers))]
    chosen = [one for one in forecaster.at(workers).ranking if one.setting in truth][:BEST]
    first = truth[chosen[0].setting] if chosen else None
    return CountCheck(
        workers=workers,
        others=tuple(forecaster.counts),
        errors=tuple(_error(one, truth) for one in predictions),
        within=sum(low <= truth[one.setting].area <= high for one in predictions for low, high in [one.area.interval]),
        unpredicted=len(best) - len(predictions),
        chosen_errors=tuple(_error(one, truth) for one in chosen),
        regret=first.area / truth[best[0]].area - 1 if first and first.qualified else None,
    )


def _error(prediction: Prediction, truth: Mapping[Setting, _Truth]) -> float:
    return prediction.area.value / truth[prediction.setting].area - 1


def _truth(runs: Iterable[Run], threshold: float | None, over: str, price: float | None) -> dict[Setting, _Truth]:
    """Of the settings all of whose trials are complete, with an area that is not zero."""
    by_setting: dict[Setting, list[Run]] = {}
    for run in runs:
        by_setting.setdefault(run.setting, []).append(run)
    return {setting: one for setting, ones in by_setting.items() if (one := _came_to(ones, threshold, over, price))}


def _came_to(runs: Sequence[Run], threshold: float | None, over: str, price: float | None) -> _Truth | None:
    areas = [run.area("seconds" if over == DOLLARS else over) for run in runs if run.complete]
    known = [area for area in areas if area is not None]
    if len(known) < len(runs) or fmean(known) <= 0:
        return None
    scale = (price or 0.0) * runs[0].workers / SECONDS_PER_HOUR if over == DOLLARS else 1.0
    lowest = [math.inf if run.minimum_loss is None else run.minimum_loss for run in runs]
    return _Truth(fmean(known) * scale, threshold is None or max(lowest) <= threshold)
