"""Which guide a sweep gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sweeper.cost import rate_of, stored_axis
from sweeper.curve import LossPoint
from sweeper.repeats import Race, repeats_of
from sweeper.search.guide import AreaGuide, Guide
from sweeper.search.places import curves_are_shared, place_of
from sweeper.search.racing import RacingGuide
from sweeper.search.sharing import SharedCurves
from sweeper.searching import search_of
from sweeper.spec import BY_LOSS, DOLLARS, SweepSpec, prune_of, reuse_of
from sweeper.store import SweepRecord, TrialRecord
from sweeper.trial import TrialState


def guide_for(
    sweep: SweepRecord, trials: Iterable[TrialRecord], curve_of: Callable[[str], Sequence[LossPoint]]
) -> Guide:
    """What the sweep's spec asks for; `curve_of` gives the points of a trial that has ended."""
    trials = list(trials)
    repeats = repeats_of(sweep.spec)
    rate = rate_of(sweep) if sweep.over == DOLLARS else None
    guide = _pruning_guide(sweep, trials, curve_of, repeats, rate)
    if reuse_of(sweep.spec) == "equivalent":
        guide = _sharing_guide(guide, sweep, trials, curve_of)
    if isinstance(repeats, Race):
        return RacingGuide(guide, repeats, sweep, trials, rate)
    if not search_of(sweep.spec).learns:
        return guide
    from sweeper.search.proposing import ProposingGuide  # loads what samples

    spec = SweepSpec.model_validate(sweep.spec)
    return ProposingGuide(guide, spec, [trial.candidate(stored_axis(sweep.over)) for trial in trials])


def _sharing_guide(
    guide: Guide, sweep: SweepRecord, trials: Sequence[TrialRecord], curve_of: Callable[[str], Sequence[LossPoint]]
) -> Guide:
    places = {trial.id: place_of(trial.planned) for trial in trials}
    sharing = SharedCurves(guide, stored_axis(sweep.over), places, curve_of)
    for trial in trials:
        if trial.attempt and trial.state is TrialState.PENDING and not trial.oversubscribed:
            sharing.recall(trial.id)
    return sharing


def _pruning_guide(
    sweep: SweepRecord,
    trials: Sequence[TrialRecord],
    curve_of: Callable[[str], Sequence[LossPoint]],
    repeats: int | Race,
    rate: float | None,
) -> Guide:
    prune = prune_of(sweep.spec)
    if prune.method == "none":
        return Guide()
    parameters = {trial.id: trial.parameters for trial in trials}
    if prune.method in BY_LOSS:
        from sweeper.search.loss_guide import LossGuide  # loads Optuna

        images = {trial.id: trial.config["images"] for trial in trials if "images" in trial.config}
        return LossGuide(prune.method, parameters, stored_axis(sweep.over), sweep.group_by, curve_of, images)
    objective = (sweep.threshold, sweep.over, sweep.group_by, prune.floor)
    if prune.method == "area":
        return AreaGuide(parameters, *objective, repeats=repeats, rate=rate)
    from sweeper.search.forecasting import ForecastGuide  # loads scikit-learn

    shared = all(curves_are_shared(trial.config) for trial in trials)
    return ForecastGuide(
        parameters, *objective, repeats=repeats, rate=rate, risk=prune.risk, curve_of=curve_of, shared=shared
    )
