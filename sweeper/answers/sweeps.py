"""The answers of `list` and `show` as values of JSON: the command line and an HTTP API give the same ones.

Numbers that are not finite are still in them; whoever writes JSON makes them null (`sweeper.answers.numbers.finite`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, get_args

from sweeper.answers.cost import bill, rate_for
from sweeper.answers.numbers import as_passed
from sweeper.store import Store, SweepRecord, TrialRecord

Order = Literal["area", "plan", "loss"]
ORDERS: tuple[str, ...] = get_args(Order)


def list_answer(store: Store) -> dict[str, Any]:
    """All sweeps, newest first: {"sweeps": [{"sweep", "name", "origin", "state", "trials", "ended", "states",
    "created_at"}]}; `state` is one of `SweepState`, `states` counts the trials by theirs, `created_at` is in UTC.
    """
    return {"sweeps": [sweep_answer(sweep) for sweep in store.sweeps.all()]}


def sweep_answer(sweep: SweepRecord) -> dict[str, Any]:
    """One sweep of `list_answer`."""
    return {
        **heading(sweep),
        "origin": sweep.origin,
        "state": sweep.state.value,
        "trials": sweep.total,
        "ended": sweep.ended,
        "states": _states(sweep),
        "created_at": sweep.created_at.isoformat(timespec="seconds"),
    }


def show_answer(store: Store, reference: str, order: str = "area", rate: float | None = None) -> dict[str, Any]:
    """A sweep's trials: {"sweep", "name", "over", "state", "states", "trials": [...]}.

    "area" of a trial is over seconds, "ranked_area" over the sweep's own axis, "over": seconds, images or steps.

    A trial is "at_chance" when its data set has classes, and its loss never came below 95 % of what guessing gives
    (`sweeper.ranking.chance`). "area_is_bound" where the trial ended early: then "area" is that of its curve so far, a
    lower bound. With `order` "area" these come after all others, and trials that shared cores before them. Its
    "accuracy" is that of its last evaluation on the test set, None where there was none. `order` is "area" or "loss"
    (smallest first, trials without one last) or "plan". "dollars" of each trial and of the sweep are
    `sweeper.answers.cost.bill`'s at the `rate` per worker and hour, by default the sweep's own; None without a rate.

    Raises:
        NotFoundError: see `Store.sweeps.find`.
    """
    sweep = store.sweeps.find(reference)
    trials = store.trials.of(sweep.id)
    if order == "area":
        trials.sort(key=partial(_by_area, axis_of(sweep)))
    elif order == "loss":
        trials.sort(key=lambda trial: _last_without(trial.minimum_loss))
    accuracies = accuracies_of(store, sweep)
    rate = rate_for(sweep, "seconds", rate)
    dollars = {} if rate is None else bill(store, sweep, [(t.id, t.workers, t.seconds) for t in trials], rate)
    return {
        **heading(sweep),
        "over": axis_of(sweep),
        "state": sweep.state.value,
        "states": _states(sweep),
        "dollars_per_worker_hour": rate,
        "dollars": None if rate is None else math.fsum(dollars.values()),
        "trials": [
            {
                **trial_answer(trial),
                "ranked_area": getattr(trial, f"area_{axis_of(sweep)}"),
                "accuracy": accuracies.get(trial.id),
                "dollars": dollars.get(trial.id),
            }
            for trial in trials
        ],
    }


def axis_of(sweep: SweepRecord) -> str:
    """The axis that areas of single trials are shown over: the sweep's own, and for dollars, seconds."""
    return "seconds" if sweep.over == "dollars" else sweep.over


def heading(sweep: SweepRecord) -> dict[str, Any]:
    return {"sweep": sweep.id, "name": sweep.name}


def _states(sweep: SweepRecord) -> dict[str, int]:
    return {state.value: count for state, count in sorted(sweep.states.items()) if count}


def trial_answer(trial: TrialRecord) -> dict[str, Any]:
    """A trial of `show_answer`, without what is not on its own row."""
    return {
        "trial": trial.id,
        "state": trial.state.value,
        "parameters": shown_parameters(trial),
        "area": trial.area_seconds,
        "area_is_bound": trial.area_is_bound,
        "minimum_loss": trial.minimum_loss,
        "seconds": trial.seconds,
        "images": trial.images,
        "reason": trial.reason,
        "steps": trial.steps,
        "points": trial.points,
        "final_loss": trial.final_loss,
        "attempt": trial.attempt,
        "oversubscribed": trial.oversubscribed,
        "at_chance": trial.at_chance,
        "derived_from": trial.derived_from,
    }


def shown_parameters(trial: TrialRecord) -> dict[str, Any]:
    """A trial's parameters; the numbers of a command's as it gets them."""
    return as_passed(trial.parameters) if "command" in trial.config else trial.parameters


def accuracies_of(store: Store, sweep: SweepRecord, trials: Sequence[str] | None = None) -> dict[str, float]:
    found = store.attempts.last_evaluations(sweep.id, trials)
    return {trial: last.accuracy for trial, last in found.items() if not math.isnan(last.accuracy)}


def _by_area(over: str, trial: TrialRecord) -> tuple[int, float]:
    """Areas that rankings take, then those of trials that shared cores, then lower bounds, then trials without one."""
    area = _last_without(getattr(trial, f"area_{over}"))
    if area == math.inf:
        return (3, 0.0)
    return (2 if trial.area_is_bound else int(trial.oversubscribed and over == "seconds"), area)


def _last_without(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else math.inf
