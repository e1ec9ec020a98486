"""What the scheduler asks: which trial next, and whether a running one is to go on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from sweeper.guides.order import BestFirst
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking import Candidate, qualifies
from sweeper.ranking.area_bound import AreaPruner
from sweeper.ranking.cost import dollars_per_second, over_dollars, stored_axis
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.settings import without_seed
from sweeper.ranking.verdict import Verdict
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import Race, gives_seeds


class Derived(NamedTuple):
    """The curve of a trial that need not run: the losses of `source`, which did, at the trial's own times."""

    source: str
    points: Sequence[LossPoint]


@dataclass(frozen=True)
class Enough:
    """What was wanted of a run is known: it is to be stopped, and its trial waits for what becomes of it."""

    words: str

    def __str__(self) -> str:
        return self.words


def has_ended_with(points: Sequence[LossPoint], candidate: Candidate) -> bool:
    """Whether a trial's end is that of the points seen here, not of an attempt that others have made since."""
    return bool(points) and points[-1].seconds == candidate.seconds


class Guide:
    """The order of the plan, and every trial to its end."""

    over = ""  # the axis of the candidates that it learns from; none where it does not learn
    proposes = False  # whether it ever adds trials to a sweep
    most: int | None = None  # how many trials it makes of a sweep at most, where that is bounded

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The ids of waiting trials, of which it gets the parameters: those to start first in front.

        Trials of one worker count stay together. Those that it leaves out are not to start yet.
        """
        return list(waiting)

    def bar(self, workers: Collection[int]) -> None:
        """Gangs of these worker counts do not come up: trials of theirs may wait for ever. Told before `ordered`."""

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

    def failed(self, trial: str) -> None:
        """An attempt at a trial has come to nothing, and the trial waits for another one."""

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:  # noqa: ARG002 - as above
        """Which of the waiting trials, of which it gets the parameters, need not run any more, and why.

        Asked before trials are started, when something has ended since.
        """
        return {}

    def derived(self, waiting: Iterable[str]) -> Mapping[str, Derived]:  # noqa: ARG002 - as above
        """Which of the waiting trials need not run since others have shown what they would; asked as `given_up` is."""
        return {}

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """What trials have come to, here or elsewhere; those that have not ended, or are known, are passed over."""


class GuideAround(Guide):
    """Another guide, of which it changes a part; takes what it learns from over the axis of its own."""

    def __init__(self, inner: Guide, over: str) -> None:
        self._inner, self.over, self.proposes = inner, over, inner.proposes

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """See `Guide.ordered`."""
        return self._inner.ordered(waiting)

    def bar(self, workers: Collection[int]) -> None:
        """See `Guide.bar`."""
        self._inner.bar(workers)

    def propose(self) -> Sequence[TrialSpec]:
        """See `Guide.propose`."""
        return self._inner.propose()

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """See `Guide.begin`."""
        self._inner.begin(trial, steps, images)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`."""
        return self._inner.point(trial, point)

    def failed(self, trial: str) -> None:
        """See `Guide.failed`."""
        self._inner.failed(trial)

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
        """See `Guide.given_up`."""
        return self._inner.given_up(waiting)

    def derived(self, waiting: Iterable[str]) -> Mapping[str, Derived]:
        """See `Guide.derived`."""
        return self._inner.derived(waiting)

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        self._inner.learn(candidates)


class AreaGuide(Guide):
    """The exact area bound, and the order in which it saves most; `trials` are the parameters of all by id.

    Where `repeats` gives seeds, settings compete by their means. Over dollars it needs the `rate`.
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
    ) -> None:
        self.over, self._rate, self._seeded = stored_axis(over), rate, gives_seeds(repeats)
        self._trials, self._threshold, self._group_by = dict(trials), threshold, tuple(group_by)
        self._pruner = self._make_pruner(over, floor, repeats)
        if rate is not None:
            self._pruner.scale = partial(dollars_per_second, rate=rate)
        self._pruner.plan(self._trials)
        self._order = BestFirst(self._places(), group_by)
        self._steps: dict[str, int | None] = {}
        self._whole: dict[str, float] = {}  # seconds that a pruned trial would have taken
        self._known: set[str] = set()

    def _make_pruner(self, over: str, floor: float, repeats: int | Race) -> AreaPruner:
        return AreaPruner(self._threshold, over, self._group_by, floor, repeats=repeats)

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Worker count after worker count as they come, the first one's trials in the order of `BestFirst`."""
        if not waiting.keys() <= self._trials.keys():
            self._trials |= waiting  # the sweep was extended
            self._pruner.plan(waiting)
            self._order = BestFirst(self._places(), self._group_by, self._order)
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

    def _places(self) -> Mapping[str, Mapping[str, Any]]:
        """What tells trials apart for the order: seeds of one setting are alike."""
        return {t: without_seed(p) for t, p in self._trials.items()} if self._seeded else self._trials
