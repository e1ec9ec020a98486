"""What the scheduler asks: which trial next, and whether a running one is to go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sweeper.curve import LossPoint
from sweeper.pruning.area import AreaPruner, Verdict
from sweeper.ranking import Candidate, qualifies
from sweeper.search.order import BestFirst
from sweeper.space import WORKERS
from sweeper.trial import TrialSpec, TrialState


class Guide:
    """The order of the plan, and every trial to its end."""

    over = ""  # the axis of the candidates that it learns from; none where it does not learn

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The ids of waiting trials, of which it gets the parameters: those to start first in front.

        Trials of one worker count stay together.
        """
        return list(waiting)

    def propose(self) -> Sequence[TrialSpec]:
        """Trials that the sweep does not have, to be added now that none waits and seats are free.

        None where there are no more to come, or for as long as what runs has to end first.
        """
        return ()

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """An attempt at a trial begins to train, of so many steps and images in all as far as these are known."""

    def point(self, trial: str, point: LossPoint) -> Verdict | None:  # noqa: ARG002 - for those who prune
        """A running trial's next point; why it is to be stopped, None where it goes on."""
        return None

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """What trials have come to, here or elsewhere; those that have not ended, or are known, are passed over."""


class AreaGuide(Guide):
    """The exact area bound, and the order in which it saves most; `trials` are the parameters of all by id."""

    def __init__(
        self,
        trials: Mapping[str, Mapping[str, Any]],
        threshold: float | None,
        over: str,
        group_by: Sequence[str],
        floor: float = 0.0,
    ) -> None:
        self.over = over
        self._trials, self._threshold, self._group_by = dict(trials), threshold, tuple(group_by)
        self._pruner = self._make_pruner(floor)
        self._order = BestFirst(self._trials, group_by)
        self._steps: dict[str, int | None] = {}
        self._whole: dict[str, float] = {}  # seconds that a pruned trial would have taken
        self._known: set[str] = set()

    def _make_pruner(self, floor: float) -> AreaPruner:
        return AreaPruner(self._threshold, self.over, self._group_by, floor)

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Worker count after worker count as they come, the first one's trials in the order of `BestFirst`."""
        if not waiting.keys() <= self._trials.keys():
            self._trials |= waiting  # the sweep was extended
            self._order = BestFirst(self._trials, self._group_by, self._order)
        _, block = next(groupby(waiting, key=lambda trial: waiting[trial].get(WORKERS)), (None, iter(())))
        first = self._order.ordered(list(block))
        return [*first, *list(waiting)[len(first) :]]

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """See `Guide.begin`."""
        self._steps[trial] = steps
        self._pruner.begin(trial, self._trials[trial], steps, images)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`."""
        hopeless = self._pruner.point(trial, point)
        if hopeless and trial not in self._whole:
            steps = self._steps.get(trial)
            self._whole[trial] = point.seconds * (steps / point.step if steps and point.step else 1.0)
            self._order.ended(trial, hopeless.bound, self._whole[trial])
        return hopeless

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        for candidate in candidates:
            if not candidate.state.ended or candidate.trial in self._known:
                continue
            self._known.add(candidate.trial)
            self._pruner.completed(candidate)
            if candidate.trial not in self._whole and candidate.seconds:
                counts = qualifies(candidate, self._threshold) or candidate.state is TrialState.PRUNED
                self._order.ended(candidate.trial, candidate.area if counts else None, candidate.seconds)
