"""The guide of `prune: area`: the exact bound, and the order in which it saves most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from sweeper.guides.base import Guide
from sweeper.guides.order import BestFirst
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, qualifies
from sweeper.ranking.area_bound import AreaBound, AreaVerdict, Verdict
from sweeper.ranking.cost import dollars_per_second, over_dollars, stored_axis
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.partial_means import Hopeless
from sweeper.ranking.settings import without_seed
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import Race, gives_seeds


class TrialStopper(Protocol):
    """What stops trials by their areas, as `AreaBound` says; a guide calls it from the scheduler's thread."""

    def plan(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        """Trials that the sweep has, with their parameters."""

    def begin(self, trial: str, parameters: Mapping[str, Any], steps: int | None, images: int | None) -> None:
        """An attempt at a trial begins; the one before it does not count any more."""

    def point(self, trial: str, point: LossPoint) -> AreaVerdict | None:
        """The next point of a running trial; why it should be stopped."""

    def failed(self, trial: str) -> None:
        """An attempt at a trial has failed."""

    def completed(self, candidate: Candidate) -> None:
        """A trial has ended."""

    def hopeless(self, trial: str) -> Hopeless | None:
        """Why a trial can win no more, whether it runs or waits."""


def bound_for(
    threshold: float | None,
    over: str,
    group_by: Sequence[str],
    floor: float = 0.0,
    *,
    repeats: int | Race = 1,
    rate: float | None = None,
) -> AreaBound:
    """The exact bound for an objective; over dollars at a `rate`."""
    bound = AreaBound(threshold, over, tuple(group_by), floor, repeats=repeats)
    if rate is not None:
        bound.scale = partial(dollars_per_second, rate=rate)
    return bound


def apart(trials: Mapping[str, Mapping[str, Any]], *, seeded: bool) -> Mapping[str, Mapping[str, Any]]:
    """What tells trials apart for an order or a forecast: seeds of one setting are alike."""
    return {trial: without_seed(parameters) for trial, parameters in trials.items()} if seeded else trials


class AreaGuide(Guide):
    """The exact area bound, and the order in which it saves most; `trials` are the parameters of all by id.

    Where `repeats` gives seeds, settings compete by their means. Over dollars it needs the `rate`. A `pruner` of one's
    own, which stops more than the bound does, is planned and told by this guide.
    """

    def __init__(
        self,
        trials: Mapping[str, Mapping[str, Any]],
        threshold: float | None,
        over: str,
        group_by: Sequence[str],
        floor: float = 0.0,
        *,
        repeats: int | Race = 1,
        rate: float | None = None,
        pruner: TrialStopper | None = None,
    ) -> None:
        self.over, self._rate, self._seeded = stored_axis(over), rate, gives_seeds(repeats)
        self._trials, self._threshold, self._group_by = dict(trials), threshold, tuple(group_by)
        self._pruner = pruner or bound_for(threshold, over, group_by, floor, repeats=repeats, rate=rate)
        self._pruner.plan(self._trials)
        self._order = BestFirst(apart(self._trials, seeded=self._seeded), group_by)
        self._steps: dict[str, int | None] = {}
        self._whole: dict[str, float] = {}  # seconds that a pruned trial would have taken
        self._known: set[str] = set()

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Worker count after worker count as they come, the first one's trials in the order of `BestFirst`."""
        if not waiting.keys() <= self._trials.keys():
            self._trials |= waiting  # the sweep was extended
            self._pruner.plan(waiting)
            self._order = BestFirst(apart(self._trials, seeded=self._seeded), self._group_by, self._order)
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

    def failed(self, trial: str) -> None:
        """See `Guide.failed`."""
        self._pruner.failed(trial)

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """See `Guide.given_up`: the seeds of settings that are beaten, or have one that does not qualify."""
        if not self._seeded:
            return {}
        self._pruner.plan(waiting)
        found = {trial: self._pruner.hopeless(trial) for trial in waiting}
        return {trial: str(hopeless) for trial, hopeless in found.items() if hopeless}

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        candidates = list(candidates)
        if self._seeded:  # means are over all seeds, also over those that somebody has added
            self._pruner.plan({candidate.trial: candidate.parameters for candidate in candidates})
        for candidate in candidates:
            if not candidate.state.ended or candidate.trial in self._known:
                continue
            self._known.add(candidate.trial)
            candidate = candidate if self._rate is None else over_dollars(candidate, self._rate)
            self._pruner.completed(candidate)
            if candidate.trial not in self._whole and candidate.seconds:
                counts = qualifies(candidate, self._threshold) or candidate.state is TrialState.PRUNED
                self._order.ended(candidate.trial, candidate.area if counts else None, candidate.seconds)
