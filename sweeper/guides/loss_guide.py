"""The guide that prunes by Optuna's pruners, one study a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sweeper.guides.base import Guide
from sweeper.guides.loss_pruner import Behind, OptunaPruner
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Key, group_key
from sweeper.ranking.curve import LossPoint

_OVER = (TrialState.COMPLETED, TrialState.PRUNED)


class LossGuide(Guide):
    """The order of the plan, and of trials of one group those go on whose losses are not too far behind.

    `trials` are the parameters of all by id. Of trials that ended elsewhere, or before a resume, `curves` gives the
    points, from which the study learns as if they had run here; `images` are those of a whole run by id.
    """

    def __init__(
        self,
        method: str,
        trials: Mapping[str, Mapping[str, Any]],
        over: str,
        group_by: Sequence[str],
        curves: Callable[[str], Sequence[LossPoint]] = lambda _: (),
        images: Mapping[str, int] | None = None,
    ) -> None:
        self.over = over
        self._method, self._group_by, self._curves, self._images = method, tuple(group_by), curves, images or {}
        self._keys: dict[str, Key] = {}
        self._pruners: dict[Key, OptunaPruner] = {}
        self._known: set[str] = set()
        self._begun: set[str] = set()
        self._note(trials)

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """See `Guide.ordered`."""
        self._note(waiting)
        return list(waiting)

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """See `Guide.begin`."""
        self._begun.add(trial)
        self._known.discard(trial)  # it had failed, and is tried again
        self._of(self._keys[trial]).begin(trial, steps, images)

    def point(self, trial: str, point: LossPoint) -> Behind | None:
        """See `Guide.point`."""
        return self._of(self._keys[trial]).point(trial, point)

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        for candidate in candidates:
            if not candidate.state.ended or candidate.trial in self._known:
                continue
            self._known.add(candidate.trial)
            key = group_key(candidate.parameters, self._group_by)
            if candidate.trial not in self._begun and candidate.state in _OVER:
                self._tell_again(self._of(key), candidate)
            self._of(key).ended(candidate)

    def _note(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        for trial in trials.keys() - self._keys.keys():
            self._keys[trial] = group_key(trials[trial], self._group_by)

    def _of(self, key: Key) -> OptunaPruner:
        if key not in self._pruners:
            self._pruners[key] = OptunaPruner(self._method, str(key))
        return self._pruners[key]

    def _tell_again(self, pruner: OptunaPruner, candidate: Candidate) -> None:
        points = self._curves(candidate.trial)
        images = self._images.get(candidate.trial)
        if points and (candidate.complete or images):
            pruner.begin(candidate.trial, points[-1].step if candidate.complete else None, images)
            for point in points:
                pruner.point(candidate.trial, point)
