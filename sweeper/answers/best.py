"""The answer of `best` as values of JSON: the winner of each group."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.answers.certainty import doubtful_trials, extremes_answer, separation_answer, setting_answer
from sweeper.answers.cost import candidates_over, rate_for
from sweeper.answers.derived import derived_candidates, trained_again
from sweeper.answers.imports import imported_from
from sweeper.answers.numbers import as_passed
from sweeper.answers.recommendation import not_recommended, recommendation
from sweeper.answers.sweeps import accuracies_of, heading
from sweeper.answers.times import notes_on_times
from sweeper.errors import SpecError
from sweeper.gangs.machine import local_capacity
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Group, best_per_group
from sweeper.ranking.belief import SMALL_REGRET
from sweeper.ranking.settings import competitors, repeats_of
from sweeper.scheduling.admission import shape_of
from sweeper.spec import BY_LOSS, OVER
from sweeper.spec.axes import SEED, WORKERS
from sweeper.spec.repeats import Race, gives_seeds
from sweeper.store import Store, SweepRecord
from sweeper.store.gc_pause import collection_paused


def best_answer(
    store: Store,
    reference: str,
    by: Sequence[str] = (),
    threshold: float | None = None,
    over: str | None = None,
    *,
    oversubscribed: bool = False,
    rate: float | None = None,
    recommend: bool = False,
) -> dict[str, Any]:
    """The winner of each group: {"sweep", "name", "over", "threshold", "groups": [...]}.

    `by` names the parameters that make a group; it, the threshold and the axis are the sweep's own by default. With
    repeats, settings compete: the winner has the smallest mean area (`sweeper.answers.certainty` has its fields, and
    those on how sure it is). At a `rate`, dollars per worker and hour, or the sweep's own, "cheapest" and "fastest" are
    given too. The winner's "accuracy" is as in `show_answer`. Of a group "oversubscribed" counts the completed trials
    that are left out since their ranks shared cores or GPUs; `oversubscribed` ranks these, too. "diverged" and
    "at_chance" count the trials whose loss was not finite, and those that never learnt; "unknown_origin" counts the
    imported ones that are left out since it is not known where their seconds begin, "without_seconds" those that have
    none. "lost" counts the trials that
    failed or were cancelled of each group without a winner, "repeatable" the oversubscribed ones that this machine can
    seat. "in_doubt" has the pruned trials that might have won by what is asked for: the sweep's own axis, groups and
    threshold have stopped them, or a floor that losses have come below, or a pruner that looks at losses. "risk" is the
    chance that forecasts have cost a winner all the same. An imported winner has its "source", and what its curve
    "lacks". With `recommend` each group has what `sweeper.answers.recommendation` says of it as "recommended", and
    where that is nothing though somebody won, why as "not_recommended"; its "derived_candidates" are the derived trials
    on which the answer hangs. "trained_again" says by how much such trials had been off (`sweeper.answers.derived`),
    and "notes" why times may not compare.

    Raises:
        NotFoundError: see `Store.sweeps.find`.
        SpecError: a name in `by` that is no parameter of the sweep, a threshold or an axis that is none.
    """
    asked: dict[str, Any] = {"threshold": threshold, "over": over, "oversubscribed": oversubscribed, "rate": rate}
    return best_of(store, store.sweeps.find(reference), by, **asked, recommend=recommend)


@collection_paused()
def best_of(
    store: Store,
    sweep: SweepRecord,
    by: Sequence[str] = (),
    threshold: float | None = None,
    over: str | None = None,
    *,
    oversubscribed: bool = False,
    rate: float | None = None,
    recommend: bool = False,
) -> dict[str, Any]:
    """The same of a sweep that was found already."""
    axis = sweep.over if over is None else over
    if axis not in OVER:
        raise SpecError([f"over: unknown axis {axis!r}; use one of {', '.join(OVER)}"])
    rate = rate_for(sweep, axis, rate)
    found = candidates_over(store, sweep, axis, rate, oversubscribed=oversubscribed)
    repeats = repeats_of(sweep.spec, (trial.parameters for trial in found))
    if repeats != sweep.spec.repeats:
        found = [_with_seed(trial, sweep.spec.first_seed) for trial in found]
    trials = competitors(found, repeats)
    names = tuple(dict.fromkeys(by)) or sweep.group_by
    _check_names(names, trials, sweep)
    limit = sweep.threshold if threshold is None else threshold
    if limit is not None and not math.isfinite(limit):
        raise SpecError([f"threshold: {limit} is not finite; give a loss, for example 1.8"])
    if sweep.spec.is_command:
        trials = [trial._replace(parameters=as_passed(trial.parameters)) for trial in trials]
    groups = best_per_group(trials, limit, names)
    shown = [trial.trial for group in groups for one in group.ranking[:2] for trial in one.trials]
    accuracies, prune = accuracies_of(store, sweep, shown), sweep.spec.prune
    pruned_so = _is_asked_as_pruned(sweep, axis, names, limit) and _holds(sweep, groups)
    settled = pruned_so and repeats == sweep.spec.repeats and _as_planned(trials, repeats)
    # By the exact bound nobody is in doubt, but for trials that were pruned when areas still began at the first point.
    exact = prune.method == "area" and not prune.floor and not gives_seeds(repeats)
    answers = [_group(group, accuracies, repeats, settled=settled and not exact) for group in groups]
    if recommend:
        small = repeats.regret if isinstance(repeats, Race) and repeats.regret else SMALL_REGRET
        for one, group in zip(answers, groups, strict=True):
            one["recommended"] = recommendation(group, limit, small)
            one["derived_candidates"] = derived_candidates(group, one["recommended"])
            one["not_recommended"] = None if one["recommended"] else not_recommended(group)
    for one in answers:
        if one["winner"]:
            one["winner"].update(imported_from(store, sweep, one["winner"]["trial"]))
    return {
        **heading(sweep),
        "over": axis,
        "threshold": limit,
        "risk": prune.risk if prune.method == "forecast" else 0.0,
        **extremes_answer(store, sweep, limit, rate, repeats, oversubscribed=oversubscribed),
        "lost": [lost for group in groups if (lost := _lost(group))],
        "repeatable": _repeatable(store, sweep) if any(group.untimed for group in groups) else 0,
        "unknown_origin": _of_unknown_origin(sweep, axis, trials),
        "without_seconds": _without_seconds(sweep, axis, trials),
        "trained_again": trained_again(store, sweep) if recommend else None,
        "notes": notes_on_times(store, sweep, axis, answers) if recommend else [],
        "groups": answers,
    }


def _is_asked_as_pruned(sweep: SweepRecord, over: str, names: Sequence[str], limit: float | None) -> bool:
    """Whether those that were pruned could not win by what is asked for either, as far as axis and rules go."""
    stricter = gives_seeds(sweep.spec.repeats) or _is_stricter(limit, sweep.threshold)
    return (
        over == sweep.over
        and sweep.spec.prune.method not in BY_LOSS
        and set(names) <= set(sweep.group_by)
        and (limit == sweep.threshold or not stricter)
    )


def _group(group: Group, accuracies: Mapping[str, float], repeats: int | Race, *, settled: bool) -> dict[str, Any]:
    best = [setting_answer(one, accuracies, repeats) for one in group.ranking[:2]]
    return {
        "group": group.key,
        "trials": group.trials,
        "qualified": sum(len(one.trials) for one in group.ranking)
        if group.trials > group.competitors
        else len(group.ranking),
        "settings": group.competitors,
        "qualified_settings": len(group.ranking),
        "oversubscribed": group.untimed,
        "diverged": group.diverged,
        "at_chance": group.at_chance,
        "in_doubt": [] if settled else doubtful_trials(group),
        "best_minimum_loss": group.best_minimum_loss,
        "winner": best[0] if best else None,
        "runner_up": best[1] if best[1:] else None,
        **separation_answer(group, repeats),
    }


def _with_seed(trial: Candidate, first: int) -> Candidate:
    """A trial of a sweep to which seeds were added, also if it was there before and has the first seed."""
    return trial._replace(parameters={**trial.parameters, SEED: trial.parameters.get(SEED, first)})


def _lost(group: Group) -> dict[str, Any] | None:
    if group.winner:
        return None
    states = [trial.state for member in group.members for trial in member.trials]
    failed, cancelled = states.count(TrialState.FAILED), states.count(TrialState.CANCELLED)
    if not (failed or cancelled):
        return None
    return {"group": group.key, "trials": group.trials, "failed": failed, "cancelled": cancelled}


def _repeatable(store: Store, sweep: SweepRecord) -> int:
    """How many oversubscribed trials this machine could seat, were it idle."""
    completed = store.trials.of(sweep.id, [TrialState.COMPLETED])
    shapes = [shape_of(trial) for trial in completed if trial.oversubscribed and trial.resources]
    capacity = local_capacity()
    return sum(capacity.can_ever_seat(shape) for shape in shapes)


def _of_unknown_origin(sweep: SweepRecord, axis: str, trials: Sequence[Candidate]) -> int:
    if sweep.origin != "import" or axis in ("images", "steps"):
        return 0
    untold = (one for one in trials if one.area is None and one.seconds is not None and not one.oversubscribed)
    return sum(one.complete and one.finite for one in untold)


def _without_seconds(sweep: SweepRecord, axis: str, trials: Sequence[Candidate]) -> int:
    if sweep.origin != "import" or axis in ("images", "steps"):
        return 0
    return sum(one.seconds is None and one.complete and one.finite for one in trials)


def _check_names(names: Sequence[str], trials: Sequence[Candidate], sweep: SweepRecord) -> None:
    for name in names:
        if name != WORKERS and not any(name in trial.parameters for trial in trials):
            known = dict.fromkeys((WORKERS, *(name for trial in trials for name in trial.parameters)))
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}? " if near else ""
            raise SpecError([f"by: sweep {sweep.name} has no parameter {name!r}; {remedy}known are {', '.join(known)}"])


def _holds(sweep: SweepRecord, groups: Sequence[Group]) -> bool:
    """Whether no loss came below the floor that trials were pruned by."""
    floor = sweep.spec.prune.floor
    return all(group.best_minimum_loss is None or group.best_minimum_loss >= floor for group in groups)


def _as_planned(settings: Sequence[Candidate], repeats: int | Race) -> bool:
    """Whether each setting has the seeds that it was pruned by: `extend` may have added some."""
    return not isinstance(repeats, int) or repeats == 1 or all(len(one.trials) == repeats for one in settings)


def _is_stricter(limit: float | None, than: float | None) -> bool:
    """Whether somebody who qualifies by `than` may not do so by `limit`."""
    return limit is not None and (than is None or limit < than)
