"""What the scheduler asks: which trial next, and whether a running one is to go on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sweeper.plan.trial import TrialSpec
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint


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
