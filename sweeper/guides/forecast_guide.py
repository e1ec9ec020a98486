"""The guide of `prune: forecast`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sweeper.guides.area import AreaGuide, apart, bound_for
from sweeper.guides.base import GuideAround, has_ended_with
from sweeper.guides.forecast_pruner import ForecastPruner
from sweeper.guides.order import coordinates_of
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import Race, gives_seeds


class ForecastGuide(GuideAround):
    """The exact bound, the forecast at this risk, and an order in which much is learnt for little.

    `curve_of` gives the points of a trial that has ended. Where curves are `shared` by all trials of a global batch, a
    worker count tells nothing of a curve, and what was learnt with one holds for the others.
    """

    def __init__(
        self,
        trials: Mapping[str, Mapping[str, Any]],
        threshold: float | None,
        over: str,
        group_by: Sequence[str],
        floor: float = 0.0,
        *,
        risk: float,
        curve_of: Callable[[str], Sequence[LossPoint]],
        shared: bool,
        repeats: int | Race = 1,
        rate: float | None = None,
    ) -> None:
        self._trials, self._curve_of, self._shared = dict(trials), curve_of, shared
        self._seeded = gives_seeds(repeats)
        bound = bound_for(threshold, over, group_by, floor, repeats=repeats, rate=rate)
        self._forecast = ForecastPruner(bound, risk=risk, coordinates=self._coordinates_of_all())
        inner = AreaGuide(trials, threshold, over, group_by, repeats=repeats, rate=rate, pruner=self._forecast)
        super().__init__(inner, inner.over)
        self._known: set[str] = set()
        self._stopped: set[str] = set()

    def _coordinates_of_all(self) -> dict[str, tuple[float, ...]]:
        without = (WORKERS, "batch_size") if self._shared else ()
        coordinates = coordinates_of(list(apart(self._trials, seeded=self._seeded).values()), without)
        return {trial: tuple(point) for trial, point in zip(self._trials, coordinates.tolist(), strict=True)}

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The most workers first, whose trials are short and teach for the others; else as `AreaGuide.ordered`."""
        if not waiting.keys() <= self._trials.keys():
            self._trials |= waiting  # the sweep was extended
            self._forecast.move(self._coordinates_of_all())
        by_workers = sorted(waiting, key=lambda trial: -waiting[trial].get(WORKERS, 1))
        return super().ordered({trial: waiting[trial] for trial in by_workers})

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`."""
        verdict = super().point(trial, point)
        if verdict:
            self._stopped.add(trial)
        return verdict

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        candidates = list(candidates)
        super().learn(candidates)
        for one in candidates:
            if one.state.ended and one.trial not in self._known:
                self._known.add(one.trial)
                self._tell(one)

    def _tell(self, ended: Candidate) -> None:
        seen = self._forecast.seen(ended.trial)
        complete = ended.state is TrialState.COMPLETED and not ended.derived_from  # the source has told its curve
        if ended.state is TrialState.PRUNED and ended.seconds and ended.trial not in self._stopped:
            self._forecast.pruned_elsewhere()
        curve: Sequence[LossPoint] = ()
        if complete and self._forecast.wants(ended.trial):
            curve = seen if has_ended_with(seen, ended) else self._curve_of(ended.trial)
        self._forecast.ended(ended.trial, curve)
