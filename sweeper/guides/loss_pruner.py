"""Optuna's own pruners, fed with losses: what people know from elsewhere, without the promise of `prune: area`.

They compare losses at equal numbers of images. A trial that is behind there may be ahead in time, as those with large
batches are: the winner by area may well be among the stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, SuccessiveHalvingPruner
from optuna.trial import TrialState as State

from sweeper.integrations.optuna import quiet_optuna
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint

FIRST = 4  # of the parts below, after which a trial may be stopped by successive halving: before, all losses are alike
PARTS = 100  # of a run, at which losses of different batch sizes can be compared: points lie elsewhere in each
_PRUNERS: dict[str, Callable[[], BasePruner]] = {
    "median": MedianPruner,
    "asha": lambda: SuccessiveHalvingPruner(min_resource=FIRST),
    "hyperband": lambda: HyperbandPruner(min_resource=FIRST, max_resource=PARTS),
}
_STATES = {TrialState.COMPLETED: State.COMPLETE, TrialState.PRUNED: State.PRUNED}


@dataclass(frozen=True)
class Behind:
    """Why a trial is stopped: its loss after a part of the run, by the pruner of this name."""

    method: str
    loss: float
    place: str

    def __str__(self) -> str:
        return f"its loss of {self.loss:.5g} {self.place} is too far behind others there, by the pruner {self.method}"


@dataclass
class _Running:
    """A trial as the study has it; `steps` and `images` are what it will have in the end, None where unknown."""

    trial: optuna.Trial
    steps: int | None
    images: int | None
    last: LossPoint | None = None
    told: int = 0

    def place(self, point: LossPoint) -> float:
        """Where a point is, in parts of the run; in steps where nobody knows its length."""
        if self.images and point.images is not None:
            return PARTS * point.images / self.images
        return PARTS * point.step / self.steps if self.steps else point.step


class OptunaPruner:
    """`median`, `asha` (successive halving by a factor of 4) or `hyperband` (by 3), over trials that compete.

    Factors and all else are Optuna's defaults; halving first looks at losses after four hundredths of a run.

    What is told is the loss after each hundredth of the images, on the line between two points where none lies there;
    of the steps where the images are not known. A command whose length nobody knows tells it by its steps.
    """

    def __init__(self, method: str, name: str) -> None:
        with quiet_optuna():
            self._study = optuna.create_study(
                pruner=_PRUNERS[method](), study_name=name, sampler=optuna.samplers.RandomSampler(seed=0)
            )
        self._method = method
        self._running: dict[str, _Running] = {}

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """An attempt at a trial begins; what an earlier one has told does not count any more."""
        if before := self._running.pop(trial, None):
            self._study.tell(before.trial, state=State.FAIL)
        self._running[trial] = _Running(self._study.ask(), steps, images)

    def point(self, trial: str, point: LossPoint) -> Behind | None:
        """A running trial's next point; why it is to be stopped, None where it goes on.

        A loss that is not a number ends its trial by itself.
        """
        running = self._running.get(trial)
        if running is None or point.loss - point.loss != 0:
            return None
        place = running.place(point)
        for part in range(running.told + 1, int(place) + 1):
            running.trial.report(_loss_at(part, running, point, place), part)
        fresh, running.last, running.told = int(place) > running.told, point, max(int(place), running.told)
        if not fresh or not running.trial.should_prune():
            return None
        where = f"after {int(place)} % of the run" if running.images or running.steps else f"after {point.step} steps"
        return Behind(self._method, point.loss, where)

    def ended(self, candidate: Candidate) -> None:
        """A trial is over; what it told stays, unless it failed."""
        if running := self._running.pop(candidate.trial, None):
            state = _STATES.get(candidate.state, State.FAIL)
            value = running.last.loss if running.last and state is State.COMPLETE else None
            if state is State.COMPLETE and value is None:
                state = State.FAIL
            self._study.tell(running.trial, value, state=state)


def _loss_at(part: int, running: _Running, point: LossPoint, place: float) -> float:
    if running.last is None or (before := running.place(running.last)) >= part:
        return point.loss
    share = (part - before) / (place - before)
    return (1 - share) * running.last.loss + share * point.loss
