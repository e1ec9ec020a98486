"""The answers of the reading commands as values of JSON: the command line and an HTTP API give the same ones.

Numbers that are not finite are still in them; whoever writes JSON makes them null (`sweeper.cli.options.finite`).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from sweeper.cli.standing import doubtful_trials, extremes_answer, separation_answer, setting_answer
from sweeper.cost import bill, candidates_over, rate_for
from sweeper.errors import SpecError
from sweeper.interchange.importing import LoggedTrial
from sweeper.interchange.sources import ImportedSweep
from sweeper.ranking import Candidate, Group, best_per_group
from sweeper.repeats import Race, gives_seeds, repeats_of
from sweeper.settings import competitors
from sweeper.space import WORKERS
from sweeper.spec import BY_LOSS, OVER, prune_of
from sweeper.store.records import SweepRecord, TrialRecord
from sweeper.store.store import Store

Order = Literal["area", "plan", "loss"]
ORDERS: tuple[str, ...] = get_args(Order)


def list_answer(store: Store) -> dict[str, Any]:
    """All sweeps, newest first: {"sweeps": [{"sweep", "name", "origin", "state", "trials", "ended", "states",
    "created_at"}]}; `states` counts the trials by state, `created_at` is ISO 8601 in UTC.
    """
    return {"sweeps": [sweep_answer(sweep) for sweep in store.sweeps()]}


def sweep_answer(sweep: SweepRecord) -> dict[str, Any]:
    """One sweep of `list_answer`."""
    return {
        **_heading(sweep),
        "origin": sweep.origin,
        "state": sweep.state,
        "trials": sweep.total,
        "ended": sweep.ended,
        "states": _states(sweep),
        "created_at": sweep.created_at.isoformat(timespec="seconds"),
    }


def show_answer(store: Store, reference: str, order: str = "area", rate: float | None = None) -> dict[str, Any]:
    """A sweep's trials: {"sweep", "name", "state", "states", "trials": [...]}, areas over seconds.

    A trial's "accuracy" is that of its last evaluation on the test set, None where there was none. `order` is "area" or
    "loss" (smallest first, trials without one last) or "plan". "dollars" of each trial and of the sweep are
    `sweeper.cost.bill`'s at the `rate` per worker and hour, by default the sweep's own; None where there is no rate.

    Raises:
        NotFoundError: see `Store.find_sweep`.
    """
    sweep = store.find_sweep(reference)
    trials = store.trials(sweep.id)
    if order != "plan":
        trials.sort(key=lambda trial: _last_without(trial.area_seconds if order == "area" else trial.minimum_loss))
    accuracies = _accuracies(store, sweep)
    rate = rate_for(sweep, "seconds", rate)
    dollars = {} if rate is None else bill(store, sweep, [(t.id, t.workers, t.seconds) for t in trials], rate)
    return {
        **_heading(sweep),
        "state": sweep.state,
        "states": _states(sweep),
        "dollars_per_worker_hour": rate,
        "dollars": None if rate is None else math.fsum(dollars.values()),
        "trials": [
            {**trial_answer(trial), "accuracy": accuracies.get(trial.id), "dollars": dollars.get(trial.id)}
            for trial in trials
        ],
    }


def best_answer(
    store: Store,
    reference: str,
    by: Sequence[str] = (),
    threshold: float | None = None,
    over: str | None = None,
    *,
    oversubscribed: bool = False,
    rate: float | None = None,
) -> dict[str, Any]:
    """The winner of each group: {"sweep", "name", "over", "threshold", "groups": [...]}.

    `by` names the parameters that make a group; it, the threshold and the axis are the sweep's own by default.
    With repeats, settings compete: the winner has the smallest mean area (`sweeper.cli.standing` has its fields, and
    those on how sure it is). At a `rate`, dollars per worker and hour, or the sweep's own, "cheapest" and "fastest" are
    given too. The winner's "accuracy" is as in `show_answer`. Of a group "oversubscribed" counts the completed trials
    that are left out since their ranks shared cores or GPUs; `oversubscribed` ranks these, too. "in_doubt" has the
    pruned trials that might have won by what is asked for: the sweep's own axis, groups and threshold have stopped
    them, or a floor that losses have come below, or a pruner that looks at losses. "risk" is the chance that forecasts
    have cost a winner all the same.

    Raises:
        NotFoundError: see `Store.find_sweep`.
        SpecError: a name in `by` that is no parameter of the sweep, a threshold or an axis that is none.
    """
    sweep = store.find_sweep(reference)
    axis = sweep.over if over is None else over
    if axis not in OVER:
        raise SpecError([f"--over: {axis!r} is no axis; use one of {', '.join(OVER)}"])
    rate, repeats = rate_for(sweep, axis, rate), repeats_of(sweep.spec)
    trials = competitors(candidates_over(store, sweep, axis, rate, oversubscribed=oversubscribed), repeats)
    names = tuple(dict.fromkeys(by)) or sweep.group_by
    _check_names(names, trials, sweep)
    limit = sweep.threshold if threshold is None else threshold
    if limit is not None and not math.isfinite(limit):
        raise SpecError([f"--threshold: {limit} is not finite; give a loss, such as 1.8"])
    groups = best_per_group(trials, limit, names)
    accuracies, prune = _accuracies(store, sweep), prune_of(sweep.spec)
    settled = _is_asked_as_pruned(sweep, axis, names, limit) and _holds(sweep, groups) and _as_planned(trials, repeats)
    return {
        **_heading(sweep),
        "over": axis,
        "threshold": limit,
        "risk": prune.risk if prune.method == "forecast" else 0.0,
        **extremes_answer(store, sweep, limit, rate, repeats, oversubscribed=oversubscribed),
        "groups": [_group(group, accuracies, repeats, settled=settled) for group in groups],
    }


def import_answer(store: Store, sweep_id: str, imported: Sequence[LoggedTrial]) -> dict[str, Any]:
    """What an import stored: {"sweep", "name", "trials": [...]}, with an account of the lines of each file.

    `ignored_lines` counts the lines that became no point: those that are no data and the `out_of_order` points.
    """
    sweep = store.find_sweep(sweep_id)
    stored = store.trials(sweep.id)
    return {
        **_heading(sweep),
        "trials": [_imported(trial, logged) for trial, logged in zip(stored, imported, strict=True)],
    }


def sweep_import_answer(imported: Sequence[ImportedSweep]) -> list[dict[str, Any]]:
    """What an import of whole sweeps stored: [{"sweep", "name", "file", "format", "trials", "points", "kept_ids",
    "notes"}]; `trials` and `points` are counts, `kept_ids` whether sweep and trials are called as in the file.
    """
    return [
        {
            "sweep": one.restored.sweep_id,
            "name": one.name,
            "file": str(one.source.path),
            "format": one.source.format,
            "trials": one.restored.trials,
            "points": one.restored.points,
            "kept_ids": one.restored.kept_ids,
            "notes": list(one.notes),
        }
        for one in imported
    ]


def _heading(sweep: SweepRecord) -> dict[str, Any]:
    return {"sweep": sweep.id, "name": sweep.name}


def _states(sweep: SweepRecord) -> dict[str, int]:
    return {state.value: count for state, count in sorted(sweep.states.items()) if count}


def trial_answer(trial: TrialRecord) -> dict[str, Any]:
    """A trial of `show_answer`, without what is not on its own row."""
    return {
        "trial": trial.id,
        "state": trial.state.value,
        "parameters": trial.parameters,
        "area": trial.area_seconds,
        "minimum_loss": trial.minimum_loss,
        "seconds": trial.seconds,
        "images": trial.images,
        "reason": trial.reason,
        "steps": trial.steps,
        "points": trial.points,
        "final_loss": trial.final_loss,
        "attempt": trial.attempt,
        "oversubscribed": trial.oversubscribed,
        "derived_from": trial.derived_from,
    }


def _accuracies(store: Store, sweep: SweepRecord) -> dict[str, float]:
    return {trial: last.accuracy for trial, last in store.last_evaluations(sweep.id).items()}


def _is_asked_as_pruned(sweep: SweepRecord, over: str, names: Sequence[str], limit: float | None) -> bool:
    """Whether those that were pruned could not win by what is asked for either, as far as axis and rules go."""
    stricter = gives_seeds(repeats_of(sweep.spec)) or _is_stricter(limit, sweep.threshold)
    return (
        over == sweep.over
        and prune_of(sweep.spec).method not in BY_LOSS
        and set(names) <= set(sweep.group_by)
        and (limit == sweep.threshold or not stricter)
    )


def _group(group: Group, accuracies: Mapping[str, float], repeats: int | Race, *, settled: bool) -> dict[str, Any]:
    best = [setting_answer(one, accuracies, repeats) for one in group.ranking[:2]]
    return {
        "group": group.key,
        "trials": group.trials,
        "qualified": sum(len(setting.trials) for setting in group.ranking),
        "settings": group.competitors,
        "qualified_settings": len(group.ranking),
        "oversubscribed": group.untimed,
        "in_doubt": [] if settled else doubtful_trials(group),
        "best_minimum_loss": group.best_minimum_loss,
        "winner": best[0] if best else None,
        "runner_up": best[1] if best[1:] else None,
        **separation_answer(group, repeats),
    }


def _imported(trial: TrialRecord, logged: LoggedTrial) -> dict[str, Any]:
    log = logged.log
    return {
        "trial": trial.id,
        "state": trial.state.value,
        "file": logged.source,
        "format": log.format,
        "points": trial.points,
        "minimum_loss": trial.minimum_loss,
        "area": trial.area_seconds,
        "ignored_lines": len(log.ignored) + len(log.out_of_order),
        "out_of_order": len(log.out_of_order),
        "blank_lines": log.blank_lines,
        "comment_lines": log.comment_lines,
        "notes": list(log.notes),
        "parameters": trial.parameters,
    }


def _check_names(names: Sequence[str], trials: Sequence[Candidate], sweep: SweepRecord) -> None:
    known = dict.fromkeys((WORKERS, *(name for trial in trials for name in trial.parameters)))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}? " if near else ""
            raise SpecError(
                [f"--by: {name!r} is no parameter of sweep {sweep.name}; {remedy}known are {', '.join(known)}"]
            )


def _holds(sweep: SweepRecord, groups: Sequence[Group]) -> bool:
    """Whether no loss came below the floor that trials were pruned by."""
    floor = prune_of(sweep.spec).floor
    return all(group.best_minimum_loss is None or group.best_minimum_loss >= floor for group in groups)


def _as_planned(settings: Sequence[Candidate], repeats: int | Race) -> bool:
    """Whether each setting has the seeds that it was pruned by: `extend` may have added some."""
    return not isinstance(repeats, int) or repeats == 1 or all(len(one.trials) == repeats for one in settings)


def _is_stricter(limit: float | None, than: float | None) -> bool:
    """Whether somebody who qualifies by `than` may not do so by `limit`."""
    return limit is not None and (than is None or limit < than)


def _last_without(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else math.inf
