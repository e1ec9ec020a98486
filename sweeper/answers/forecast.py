"""The answer of `sweeper forecast` as values of JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sweeper.answers.cost import rate_for
from sweeper.errors import SpecError
from sweeper.spec import OVER
from sweeper.spec.axes import WORKERS
from sweeper.store.store import Store

if TYPE_CHECKING:
    from sweeper.extrapolation import CountCheck, CountForecast, Estimate, Prediction


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
    "level", "measured_workers", "dollars_per_worker_hour", "workers": [...], "errors": [...]}.

    Threshold, axis and `rate`, dollars per worker and hour, are the sweep's own by default. Each of "workers" has at
    most `top` settings in "best", smallest predicted area first; every "…_interval" is at "level". "curve" says whether
    the losses are those "measured" with other workers, or "predicted" too; "chance" is that of qualifying. "errors" has
    for each measured worker count what its forecast from the others is off by, for its ten best settings.

    Raises:
        NotFoundError: see `Store.sweeps.find`.
        SpecError: the curves do not follow from the global batch, too few worker counts are measured, a threshold or an
            axis that is none, dollars without a rate.
    """
    from sweeper.extrapolation import Forecaster, leave_one_count_out, runs_of  # loads scikit-learn

    sweep = store.sweeps.find(reference)
    axis = sweep.over if over is None else over
    if axis not in OVER:
        raise SpecError([f"over: unknown axis {axis!r}; use one of {', '.join(OVER)}"])
    limit = sweep.threshold if threshold is None else threshold
    if limit is not None and not math.isfinite(limit):
        raise SpecError([f"threshold: {limit} is not finite; give a loss, for example 1.8"])
    rate = rate_for(sweep, axis, rate)
    runs = runs_of(sweep, store.trials.of(sweep.id))
    forecaster = Forecaster(runs, limit, axis, rate)
    return {
        "sweep": sweep.id,
        "name": sweep.name,
        "over": axis,
        "threshold": limit,
        "predicted": True,
        "level": _level(),
        "measured_workers": forecaster.counts,
        "dollars_per_worker_hour": rate,
        "workers": [_count(forecaster.at(count), top) for count in dict.fromkeys(workers)],
        "errors": [_errors(check) for check in leave_one_count_out(runs, limit, axis, rate)],
    }


def _level() -> float:
    from sweeper.extrapolation.estimate import LEVEL

    return LEVEL


def _count(forecast: CountForecast, top: int) -> dict[str, Any]:
    return {
        "workers": forecast.workers,
        "predicted": True,
        "measured": forecast.measured,
        "settings": forecast.settings,
        "promising": len(forecast.ranking),
        "unknown": forecast.unknown,
        "too_large": forecast.too_large,
        "best": [_prediction(one) for one in forecast.ranking[:top]],
    }


def _prediction(one: Prediction) -> dict[str, Any]:
    return {
        "parameters": {WORKERS: one.workers, **dict(one.setting.values)},
        "predicted": True,
        "curve": "measured" if one.curve.measured else "predicted",
        "chance": one.chance,
        **_with_interval("area", one.area),
        **_with_interval("minimum_loss", one.curve.minimum_loss),
        **_with_interval("seconds", one.seconds),
        **_with_interval("seconds_per_step", one.step_seconds),
        "steps": one.setting.steps(one.workers),
        "images": one.setting.images_of(one.workers),
        **_with_interval("dollars", one.dollars),
        **_with_interval("area_dollars", one.area_dollars),
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
