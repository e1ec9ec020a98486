"""The exact area bound as a scheduler of Ray Tune: the trial with the smallest qualified area is never stopped.

    scheduler = AreaScheduler(metric="loss", threshold=1.8, group_by=["workers"])
    tune.Tuner(train, tune_config=tune.TuneConfig(scheduler=scheduler), ...)

All trials train for the same images, and losses are at least zero. It needs `ray[tune]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import AreaBound
from sweeper.ranking.curve import LossPoint, summarize


class AreaScheduler(FIFOScheduler):
    """Runs trials as they come, and stops one whose area exceeds that of a complete one of its group that qualified.

    A trial's area is that of `metric`, a loss, over `time_attr`: Ray's seconds of training by default, which begin with
    a trial's first steps; report seconds of your own where these are not to count. It qualifies when its smallest loss
    is at most `threshold`. `group_by` names keys of its config whose values make the groups that compete. With `floor`,
    a loss that none comes below, and `iterations`, the training iterations of a whole trial, what is still to come
    counts, too: for each iteration at least the time of the trial's fastest one.

    Raises:
        ValueError: a floor that is negative, or without iterations.
    """

    def __init__(
        self,
        metric: str = "loss",
        threshold: float | None = None,
        *,
        time_attr: str = "time_total_s",
        group_by: Sequence[str] = (),
        floor: float = 0.0,
        iterations: int | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if floor < 0:
            raise ValueError(f"floor: {floor:g} is negative; give a loss that none comes below, or 0")
        if floor and iterations is None:
            raise ValueError(f"floor: {floor:g} does nothing without iterations; give those of a whole trial")
        self._loss, self._time_attr = metric, time_attr
        self._metric = metric  # which Ray looks for in every result
        self._iterations = iterations
        self._bound = AreaBound(threshold, "seconds", tuple(group_by), floor)
        self._curves: dict[str, list[LossPoint]] = {}
        self._stopped: set[str] = set()

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:  # noqa: ARG002 - Ray's
        """See Ray's TrialScheduler: whether it agrees with what TuneConfig says, which may be nothing."""
        return metric in (None, self._loss) and mode in (None, "min")

    def on_trial_result(self, tune_controller: Any, trial: Any, result: Mapping[str, Any]) -> str:  # noqa: ARG002
        """See Ray's TrialScheduler: STOP for a trial that can win no more."""
        if trial.trial_id not in self._curves:
            self._bound.begin(trial.trial_id, trial.config, self._iterations, None)
        point = self._new_point(trial.trial_id, result)
        if point is None or self._bound.point(trial.trial_id, point) is None:
            return str(TrialScheduler.CONTINUE)
        self._stopped.add(trial.trial_id)
        return str(TrialScheduler.STOP)

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: Mapping[str, Any]) -> None:  # noqa: ARG002
        """See Ray's TrialScheduler: called at each end, with the last result, which may be new."""
        self._new_point(trial.trial_id, result)
        curve = summarize(self._curves.pop(trial.trial_id, []))
        state = TrialState.PRUNED if trial.trial_id in self._stopped else TrialState.COMPLETED
        measures = (curve.finite, curve.area_seconds, curve.minimum_loss)
        self._bound.completed(Candidate(trial.trial_id, dict(trial.config), state, *measures))

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:  # noqa: ARG002 - the signature is Ray's
        """See Ray's TrialScheduler: another attempt begins anew."""
        self._curves.pop(trial.trial_id, None)

    def debug_string(self) -> str:
        """See Ray's TrialScheduler."""
        return f"Using the exact area bound: {len(self._stopped)} trials stopped."

    def _new_point(self, trial: str, result: Mapping[str, Any]) -> LossPoint | None:
        """What a result tells; None where it tells nothing, or what is known."""
        points = self._curves.setdefault(trial, [])
        if self._loss not in result or self._time_attr not in result:
            return None
        seconds, loss = float(result[self._time_attr]), float(result[self._loss])
        if points and seconds <= points[-1].seconds:
            return None
        points.append(LossPoint(int(result.get("training_iteration", len(points) + 1)), None, seconds, loss))
        return points[-1]
