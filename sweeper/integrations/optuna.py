"""The exact area bound as a pruner of Optuna: the trial with the smallest qualified area is never stopped.

    study = optuna.create_study(pruner=AreaPruner(threshold=1.8))

    def objective(trial):
        curve = Curve(trial)
        for ...:
            curve.report(loss, seconds)          # of training so far
            if trial.should_prune():
                raise optuna.TrialPruned()
        return curve.area(threshold=1.8)

All trials train for the same images, and losses are at least zero. Where the axis is to be images, report these by
`trial.report(loss, step=images)` instead: an area is over whatever the steps of the reports count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import optuna
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as State

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import AreaBound
from sweeper.ranking.curve import LossPoint, minimum_loss, summarize
from sweeper.ranking.curve import area as area_of

_STEPS_A_SECOND = 1000  # Optuna's steps are whole numbers


class Curve:
    """The losses of a trial over its seconds, which Optuna gets as milliseconds."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial
        self._points: list[LossPoint] = []

    def report(self, loss: float, seconds: float) -> None:
        """The loss after so many seconds of training, which rise from report to report."""
        step = round(_STEPS_A_SECOND * seconds)
        self._points.append(LossPoint(step, None, seconds, loss))
        self._trial.report(loss, step=step)

    def area(self, threshold: float | None = None) -> float:
        """What a trial returns: its area, infinite where no loss came down to the threshold or there is no area."""
        area, least = area_of(self._points), minimum_loss(self._points)
        missed = least is None or (threshold is not None and least > threshold)
        return math.inf if area is None or missed else area


class AreaPruner(BasePruner):
    """Stops a trial once its area exceeds that of a complete trial of its group that came down to the threshold.

    Areas are over the steps of the reports. `group_by` names parameters, or user attributes, whose values make the
    groups that compete. With `floor`, a loss that none comes below, and `length`, the last step of a whole trial, what
    is still to come counts, too.

    Raises:
        ValueError: a floor that is negative, or without a length.
    """

    def __init__(
        self,
        threshold: float | None = None,
        *,
        group_by: Sequence[str] = (),
        floor: float = 0.0,
        length: int | None = None,
    ) -> None:
        if floor < 0:
            raise ValueError(f"floor: {floor:g} is negative; give a loss that none comes below, or 0")
        if floor and length is None:
            raise ValueError(f"floor: {floor:g} does nothing without length; give the last step that a trial reports")
        self._threshold, self._group_by, self._floor, self._length = threshold, tuple(group_by), floor, length
        self._bounds: dict[str, AreaBound] = {}
        self._known: set[tuple[str, int]] = set()

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        """Whether the trial can win no more; what other processes have completed counts, as far as the study has it."""
        bound = self._bound_of(study)
        bound.begin(str(trial.number), self._parameters(trial), self._length, None)
        hopeless = [bound.point(str(trial.number), point) for point in _points(trial)]
        return bool(hopeless and hopeless[-1])

    def _bound_of(self, study: optuna.Study) -> AreaBound:
        name = study.study_name
        if name not in self._bounds:
            self._bounds[name] = AreaBound(self._threshold, "steps", self._group_by, self._floor)
        for other in study.get_trials(deepcopy=False, states=(State.COMPLETE,)):
            if (name, other.number) not in self._known:
                self._known.add((name, other.number))
                self._bounds[name].completed(self._candidate(other))
        return self._bounds[name]

    def _candidate(self, trial: FrozenTrial) -> Candidate:
        curve = summarize(_points(trial))
        measures = (curve.finite, curve.area_steps, curve.minimum_loss)
        return Candidate(str(trial.number), self._parameters(trial), TrialState.COMPLETED, *measures)

    def _parameters(self, trial: FrozenTrial) -> dict[str, object]:
        return {**trial.user_attrs, **trial.params}


def _points(trial: FrozenTrial) -> list[LossPoint]:
    return [LossPoint(step, None, float(step), loss) for step, loss in sorted(trial.intermediate_values.items())]


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Without what Optuna says of each study."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
