"""Which guide a sweep gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.config import TrainingConfig
from sweeper.guides.area import AreaGuide
from sweeper.guides.base import Guide
from sweeper.guides.further_seeds import FurtherSeeds
from sweeper.guides.race import RacingGuide
from sweeper.guides.shared_curves import SharedCurves
from sweeper.plan.equivalence import curves_are_shared, equivalence_of
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import stored_axis
from sweeper.ranking.curve import LossPoint
from sweeper.ranking.settings import repeats_of
from sweeper.spec import BY_LOSS, DOLLARS
from sweeper.spec.repeats import Race
from sweeper.store import SweepRecord, TrialRecord


def guide_for(
    sweep: SweepRecord, trials: Iterable[TrialRecord], curve_of: Callable[[str], Sequence[LossPoint]]
) -> Guide:
    """What the sweep's spec asks for; `curve_of` gives the points of a trial that has ended.

    The trials are read once for each part of the guide that has to know them: not at all by the order of the plan.
    """
    repeats = sweep.spec.repeats
    rate = sweep.spec.rate if sweep.over == DOLLARS else None
    guide = _guide_that_prunes(sweep, trials, curve_of, rate)
    if sweep.spec.reuse == "equivalent":
        guide = _sharing_guide(guide, sweep, trials, curve_of)
    if isinstance(repeats, Race):
        return RacingGuide(guide, repeats, sweep, trials, rate)
    if not sweep.spec.search.learns:
        return guide
    from sweeper.guides.sampled import ProposingGuide  # loads what samples

    spec = sweep.spec.whole()
    return ProposingGuide(guide, spec, [trial.candidate(stored_axis(sweep.over)) for trial in trials])


def _sharing_guide(
    guide: Guide, sweep: SweepRecord, trials: Iterable[TrialRecord], curve_of: Callable[[str], Sequence[LossPoint]]
) -> Guide:
    # One that waits with a derived result is to be trained for real (`sweeper rerun --derived`).
    equivalences = {
        trial.id: equivalence_of(trial.planned)
        for trial in trials
        if trial.state is not TrialState.PENDING or not trial.derived_from or trial.oversubscribed
    }
    sharing = SharedCurves(guide, stored_axis(sweep.over), equivalences, curve_of)
    for trial in trials:
        if trial.attempt and trial.state is TrialState.PENDING and not trial.oversubscribed:
            sharing.recall(trial.id)
    return sharing


def _guide_that_prunes(
    sweep: SweepRecord,
    trials: Iterable[TrialRecord],
    curve_of: Callable[[str], Sequence[LossPoint]],
    rate: float | None,
) -> Guide:
    if sweep.spec.prune.method == "none":
        return Guide()
    parameters = {trial.id: trial.parameters for trial in trials}
    return FurtherSeeds(_pruning_guide(sweep, trials, curve_of, parameters, rate), sweep.spec, parameters)


def _pruning_guide(
    sweep: SweepRecord,
    trials: Iterable[TrialRecord],
    curve_of: Callable[[str], Sequence[LossPoint]],
    parameters: Mapping[str, Mapping[str, Any]],
    rate: float | None,
) -> Guide:
    prune, repeats = sweep.spec.prune, repeats_of(sweep.spec, parameters.values())
    if prune.method in BY_LOSS:
        from sweeper.guides.loss_guide import LossGuide  # loads Optuna

        images = {trial.id: whole for trial in trials if (whole := trial.whole_images)}
        return LossGuide(prune.method, parameters, stored_axis(sweep.over), sweep.group_by, curve_of, images)
    objective = (sweep.threshold, sweep.over, sweep.group_by, prune.floor)
    if prune.method == "area":
        return AreaGuide(parameters, *objective, repeats=repeats, rate=rate)
    from sweeper.guides.forecast_guide import ForecastGuide  # loads SciPy
    from sweeper.guides.forecast_pruner import Length

    return ForecastGuide(
        parameters,
        *objective,
        repeats=repeats,
        rate=rate,
        risk=prune.risk,
        curve_of=curve_of,
        shared=all(curves_are_shared(trial.config) for trial in trials),
        lengths={trial.id: Length(*_length(trial)) for trial in trials},
    )


def _length(trial: TrialRecord) -> tuple[int | None, int | None]:
    """Steps and images of a trial's whole run, None where they are not known before it begins."""
    config = trial.planned.config
    budget = config.known_budget(trial.workers) if isinstance(config, TrainingConfig) else None
    return (budget.steps, budget.images) if budget else (None, trial.whole_images)
