"""Which guide a sweep gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sweeper.cost import rate_of
from sweeper.curve import LossPoint
from sweeper.repeats import gives_seeds, repeats_of
from sweeper.search.equivalence import curves_are_shared
from sweeper.search.guide import AreaGuide, Guide
from sweeper.spec import DOLLARS, prune_of
from sweeper.store import SweepRecord, TrialRecord


def guide_for(
    sweep: SweepRecord, trials: Iterable[TrialRecord], curve_of: Callable[[str], Sequence[LossPoint]]
) -> Guide:
    """What the sweep's spec asks for; `curve_of` gives the points of a trial that has ended."""
    prune = prune_of(sweep.spec)
    if prune.method == "none":
        return Guide()
    trials = list(trials)
    parameters = {trial.id: trial.parameters for trial in trials}
    objective = (sweep.threshold, sweep.over, sweep.group_by, prune.floor)
    rate = rate_of(sweep) if sweep.over == DOLLARS else None
    seeded = gives_seeds(repeats_of(sweep.spec))
    if prune.method == "area":
        return AreaGuide(parameters, *objective, seeded=seeded, rate=rate)
    from sweeper.search.forecasting import ForecastGuide  # loads scikit-learn

    shared = all(curves_are_shared(trial.config) for trial in trials)
    return ForecastGuide(
        parameters, *objective, seeded=seeded, rate=rate, risk=prune.risk, curve_of=curve_of, shared=shared
    )
