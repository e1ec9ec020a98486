"""The answer of `sweeper forecast` as values of JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sweeper.answers.cost import rate_for
from sweeper.errors import SpecError
from sweeper.spec import OVER
from sweeper.spec.axes import WORKERS
from sweeper.store import Store, SweepRecord

MOST_WORKERS = 1_000_000  # that are forecast

if TYPE_CHECKING:
    from sweeper.extrapolation import (
        CountCheck,
        CountForecast,
        CountTimes,
        Estimate,
        PredictedTimes,
        Prediction,
        Run,
        TimeCheck,
    )


def forecast_answer(
    store: Store,
    reference: str,
    workers: Sequence[int],
    threshold: float | None = None,
    over: str | None = None,
    *,
    rate: float | None = None,
    top: int = 10,
) -> dict[str, Any]:
    """The best settings at worker counts that need not have run: {"sweep", "name", "over", "threshold", "predicted",
    "level", "measured_workers", "dollars_per_worker_hour", "losses_follow", "note", "left_out", "workers": [...],
    "errors": [...], "time_errors": [...]}.

    Threshold, axis and `rate`, dollars per worker and hour, are the sweep's own by default. Each of "workers" has at
    most `top` settings in "best", smallest predicted area first; every "…_interval" is at "level". "curve" says whether
    the losses are those "measured" with other workers, or "predicted" too; "chance" is that of qualifying. "errors" has
    for each measured worker count what its forecast from the others is off by, for its ten best settings.

    Of models whose losses do not follow from the global batch, "times" has what their settings take, the shortest
    training first, and "note" says why there is no more; it is None where all losses follow. Where none does
    ("losses_follow" is false), there is neither an axis nor a threshold, and "measured_workers" are those whose times
    are known. "left_out" counts the trials that say nothing about other worker counts, by the reason. "time_errors" is
    as "errors" is, of steps.

    Raises:
        NotFoundError: see `Store.sweeps.find`.
        SpecError: a worker count that none can be, curves that do not follow from the global batch, too few measured
            worker counts, a threshold or an axis that is none, or that needs losses where none follow, dollars without
            a rate.
    """
    from sweeper.extrapolation import (  # loads scikit-learn
        LEVEL,
        Forecaster,
        leave_one_count_out,
        left_out,
        runs_of,
        time_errors,
    )

    check_counts(workers)
    sweep = store.sweeps.find(reference)
    axis, limit, rate = _asked(sweep, threshold, over, rate)
    trials = store.trials.of(sweep.id)
    runs = runs_of(sweep, trials)
    differ, follow = _which_differ(runs), any(not run.setting.differs for run in runs)
    if not follow:
        _refuse_of_losses(differ, threshold=threshold, over=over)
    forecaster = Forecaster(runs, limit, axis, rate)
    counts = list(dict.fromkeys(workers))
    return {
        "sweep": sweep.id,
        "name": sweep.name,
        "over": axis if follow else None,
        "threshold": limit if follow else None,
        "predicted": True,
        "level": LEVEL,
        "measured_workers": forecaster.counts if follow else forecaster.timed_counts,
        "dollars_per_worker_hour": rate,
        "losses_follow": follow,
        "note": f"Times and costs only: {differ}." if differ else None,
        "left_out": left_out(trials),
        "workers": [_count(forecaster.at(count), forecaster.times_at(count), top) for count in counts],
        "errors": [_errors(check) for check in leave_one_count_out(runs, limit, axis, rate)],
        "time_errors": [_time_errors(check) for check in time_errors(runs)],
    }


class _Asked(NamedTuple):
    """What is ranked by: an axis, a threshold, and dollars per worker and hour, the last two None where none is."""

    axis: str
    limit: float | None
    rate: float | None


def _asked(sweep: SweepRecord, threshold: float | None, over: str | None, rate: float | None) -> _Asked:
    """What was asked for, the sweep's own by default; raises SpecError for an axis or a threshold that is none."""
    axis = sweep.over if over is None else over
    if axis not in OVER:
        raise SpecError([f"over: unknown axis {axis!r}; use one of {', '.join(OVER)}"])
    limit = sweep.threshold if threshold is None else threshold
    if limit is not None and not math.isfinite(limit):
        raise SpecError([f"threshold: {limit} is not finite; give a loss, for example 1.8"])
    return _Asked(axis, limit, rate_for(sweep, axis, rate))


def check_counts(workers: Sequence[int]) -> None:
    """Raises SpecError for worker counts that none can be, or none at all."""
    for count in workers or [0]:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_WORKERS:
            told = repr(count) if workers else "nothing"
            raise SpecError([f"workers: {told} is given; give whole numbers from 1 to {MOST_WORKERS}, for example 16"])


def _which_differ(runs: Sequence[Run]) -> str:
    """The models whose losses do not follow, and why, as the end of a sentence; empty where all do."""
    models: dict[str, dict[str, None]] = {}
    for run in runs:
        if run.setting.differs:
            models.setdefault(run.setting.differs, {})[run.setting.model] = None
    reasons = [f"of {' and '.join(names)} do not follow ({reason})" for reason, names in models.items()]
    return f"the losses {', and those '.join(reasons)}" if reasons else ""


def _refuse_of_losses(differ: str, **choices: Any) -> None:
    """Raises SpecError for choices that ask for losses."""
    for name, value in choices.items():
        if value is not None:
            raise SpecError([f"{name}: {value} needs losses, and {differ}; leave it out"], f"--{name}")


def _count(forecast: CountForecast, timed: CountTimes, top: int) -> dict[str, Any]:
    return {
        "workers": forecast.workers,
        "predicted": True,
        "measured": forecast.measured,
        "settings": forecast.settings + timed.settings,
        "promising": len(forecast.ranking),
        "unknown": forecast.unknown + timed.unknown,
        "too_large": forecast.too_large + timed.too_large,
        "best": [_prediction(one) for one in forecast.ranking[:top]],
        "times": [_timed(one) for one in timed.times[:top]],
    }


def _prediction(one: Prediction) -> dict[str, Any]:
    return {
        "parameters": _parameters(one.times),
        "predicted": True,
        "curve": "measured" if one.curve.measured else "predicted",
        "chance": one.chance,
        **_with_interval("area", one.area),
        **_with_interval("minimum_loss", one.curve.minimum_loss),
        **_times(one.times),
        **_with_interval("area_dollars", one.area_dollars),
    }


def _timed(one: PredictedTimes) -> dict[str, Any]:
    return {"parameters": _parameters(one), "predicted": True, **_times(one)}


def _parameters(one: PredictedTimes) -> dict[str, Any]:
    return {WORKERS: one.workers, **dict(one.setting.values)}


def _times(one: PredictedTimes) -> dict[str, Any]:
    return {
        **_with_interval("seconds", one.seconds),
        **_with_interval("seconds_per_step", one.step_seconds),
        "step": "measured" if one.measured else "predicted",
        **_with_interval("images_per_second", one.images_per_second),
        "steps": one.setting.steps(one.workers),
        "images": one.setting.images_of(one.workers),
        **_with_interval("dollars", one.dollars),
    }


def _with_interval(name: str, estimate: Estimate | None) -> dict[str, Any]:
    interval = list(estimate.interval) if estimate else None
    return {name: estimate.value if estimate else None, f"{name}_interval": interval}


def _errors(check: CountCheck) -> dict[str, Any]:
    return {
        "workers": check.workers,
        "from": list(check.others),
        "settings": len(check.errors) + check.unpredicted,
        "unpredicted": check.unpredicted,
        "median_error": check.median_error,
        "worst_error": check.worst_error,
        "within_interval": check.within,
        "winner_excess": check.regret,
    }


def _time_errors(check: TimeCheck) -> dict[str, Any]:
    return {
        "workers": check.workers,
        "from": list(check.others),
        "steps": len(check.errors) + check.unpredicted,
        "unpredicted": check.unpredicted,
        "median_error": check.median_error,
        "worst_error": check.worst_error,
    }
