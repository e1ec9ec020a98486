"""The guide of `prune: forecast`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sweeper.guides.area import AreaGuide, apart, bound_for
from sweeper.guides.base import GuideAround, has_ended_with
from sweeper.guides.curve_model import load_early
from sweeper.guides.forecast_pruner import ForecastPruner, Length
from sweeper.guides.order import coordinates_of
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import Race, gives_seeds

_MOST_ASKED = 500  # of waiting trials whether they are to begin: by the time that others come up, more is known


def _most_workers_first(waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return sorted(waiting, key=lambda trial: -waiting[trial].get(WORKERS, 1))


class ForecastGuide(GuideAround):
    """The exact bound, the forecast at this risk, and an order in which much is learnt for little.

    `curve_of` gives the points of a trial that has ended. Where curves are `shared` by all trials of a global batch, a
    worker count tells nothing of a curve, and what was learnt with one holds for the others. Trials whose `lengths` are
    known may be given up before they begin.
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
        lengths: Mapping[str, Length] | None = None,
        repeats: int | Race = 1,
        rate: float | None = None,
    ) -> None:
        self._lengths = lengths or {}
        self._trials, self._curve_of, self._shared = dict(trials), curve_of, shared
        self._seeded = gives_seeds(repeats)
        bound = bound_for(threshold, over, group_by, floor, repeats=repeats, rate=rate)
        self._forecast = ForecastPruner(bound, risk=risk, coordinates=self._coordinates_of_all())
        inner = AreaGuide(trials, threshold, over, group_by, repeats=repeats, rate=rate, pruner=self._forecast)
        super().__init__(inner, inner.over)
        load_early()
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
        return super().ordered({trial: waiting[trial] for trial in _most_workers_first(waiting)})

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`."""
        verdict = super().point(trial, point)
        if verdict:
            self._stopped.add(trial)
        return verdict

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """See `Guide.given_up`: what the exact bound says, and what will hardly win by its settings alone."""
        found = dict(super().given_up(waiting))
        unknown = Length(None, None)
        first = [trial for trial in _most_workers_first(waiting) if trial not in found][:_MOST_ASKED]
        unlikely = self._forecast.unlikely({t: (waiting[t], self._lengths.get(t, unknown)) for t in first})
        self._stopped |= found.keys() | unlikely.keys()
        return found | {trial: str(why) for trial, why in unlikely.items()}

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        candidates = list(candidates)
        super().learn(candidates)
        for one in candidates:
            if one.state.ended and one.trial not in self._known:
                self._known.add(one.trial)
                self._tell(one)

    def _tell(self, ended: Candidate) -> None:
        pruned = ended.state is TrialState.PRUNED
        if pruned and ended.trial not in self._stopped:
            self._forecast.pruned_elsewhere()
        steps = None
        if pruned:
            length = self._lengths.get(ended.trial)
            steps = self._forecast.steps_of(ended.trial) or (length.steps if length else None)
        self._forecast.ended(ended.trial, self._curve_to_learn(ended, steps), steps)

    def _curve_to_learn(self, ended: Candidate, steps: int | None) -> Sequence[LossPoint]:
        """The points of a trial that ran, of a pruned one as far as it came; none where they would tell nothing new."""
        seen = self._forecast.seen(ended.trial)
        if ended.state is TrialState.PRUNED and steps and ended.seconds:
            curve = seen if has_ended_with(seen, ended) else self._curve_of(ended.trial)
            return curve if curve and self._forecast.wants(ended.trial, curve[-1].step / steps) else ()
        complete = ended.state is TrialState.COMPLETED and not ended.derived_from  # the source has told its curve
        if complete and self._forecast.wants(ended.trial):
            return seen if has_ended_with(seen, ended) else self._curve_of(ended.trial)
        return ()
