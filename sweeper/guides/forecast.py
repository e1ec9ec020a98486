"""The guide of `prune: forecast`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sweeper.guides.base import AreaGuide, has_ended_with
from sweeper.guides.forecast_pruner import ForecastPruner
from sweeper.guides.order import places_of
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.verdict import Verdict
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import Race


class ForecastGuide(AreaGuide):
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
        **others: Any,
    ) -> None:
        self._risk, self._curve_of, self._shared = risk, curve_of, shared
        super().__init__(trials, threshold, over, group_by, floor, **others)
        self._stopped: set[str] = set()

    def _make_pruner(self, over: str, floor: float, repeats: int | Race) -> ForecastPruner:
        objective = (self._threshold, over, self._group_by, floor)
        self._forecast = ForecastPruner(*objective, repeats=repeats, risk=self._risk, places=self._points_of())
        return self._forecast

    def _points_of(self) -> dict[str, tuple[float, ...]]:
        without = (WORKERS, "batch_size") if self._shared else ()
        places = places_of(list(self._places().values()), without)
        return {trial: tuple(place) for trial, place in zip(self._trials, places.tolist(), strict=True)}

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The most workers first, whose trials are short and teach for the others; else as `AreaGuide.ordered`."""
        known = len(self._trials)
        by_workers = sorted(waiting, key=lambda trial: -waiting[trial].get(WORKERS, 1))
        ordered = super().ordered({trial: waiting[trial] for trial in by_workers})
        if len(self._trials) > known:
            self._forecast.place_anew(self._points_of())
        return ordered

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`."""
        verdict = super().point(trial, point)
        if verdict:
            self._stopped.add(trial)
        return verdict

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        candidates = list(candidates)
        new = [one for one in candidates if one.state.ended and one.trial not in self._known]
        super().learn(candidates)
        for one in new:
            seen = self._forecast.seen(one.trial)
            complete = one.state is TrialState.COMPLETED and not one.derived_from  # the source has told its curve
            if one.state is TrialState.PRUNED and one.seconds and one.trial not in self._stopped:
                self._forecast.pruned_elsewhere()
            curve: Sequence[LossPoint] = ()
            if complete and self._forecast.wants(one.trial):
                curve = seen if has_ended_with(seen, one) else self._curve_of(one.trial)
            self._forecast.ended(one.trial, curve)
