"""Further seeds of some settings run to their end, whatever prunes others: they are there to tell settings apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeper.guides.base import Guide, GuideAround
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint
from sweeper.spec.stored import StoredSpec


class FurtherSeeds(GuideAround):
    """Another guide, whose verdicts on further seeds (`StoredSpec.is_further_seed`) do not count.

    `trials` are the parameters of those that the sweep has, by id; others become known as they wait.
    """

    def __init__(self, inner: Guide, spec: StoredSpec, trials: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(inner, inner.over)
        self._spec = spec
        self._further = set[str]()
        self._note(trials)

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """See `Guide.ordered`."""
        self._note(waiting)
        return super().ordered(waiting)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`; the other guide learns of the point all the same."""
        verdict = super().point(trial, point)
        return None if trial in self._further else verdict

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
        """See `Guide.given_up`."""
        self._note(waiting)
        found = super().given_up({one: told for one, told in waiting.items() if one not in self._further})
        return {trial: why for trial, why in found.items() if trial not in self._further}

    def _note(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        self._further |= {trial for trial, told in trials.items() if self._spec.is_further_seed(told)}
