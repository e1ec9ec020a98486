"""Who may have won of those that were pruned, once seeds were added."""

from __future__ import annotations

from sweeper.answers.best import best_answer
from sweeper.plan import plan
from sweeper.plan.making import with_seed
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store

SPEC = {
    "name": "x",
    "trial": {"images": 1280},
    "space": {"batch_size": [64, 128], "workers": [1]},
    "prune": "area",
}


def end(store: Store, trial: str, state: TrialState, area: float) -> None:
    attempt = store.attempts.claim(trial)
    assert attempt
    points = [LossPoint(1, 640, area / 2, 1.0), LossPoint(2, 1280, area, 1.0)]
    store.attempts.add_points(trial, attempt, points)
    store.attempts.finish(trial, attempt, state, summarize(points))


def test_a_setting_that_was_pruned_by_one_seed_may_win_by_the_mean_of_two(store: Store) -> None:
    spec = parse_spec(SPEC)
    planned = plan(spec)
    sweep = store.sweeps.add(spec, planned)
    first, second = (trial.id for trial in store.trials.of(sweep))
    end(store, first, TrialState.COMPLETED, 10.0)
    end(store, second, TrialState.PRUNED, 11.0)
    (group,) = best_answer(store, sweep)["groups"]
    assert group["in_doubt"] == []
    store.sweeps.extend(sweep, [with_seed(trial, 1) for trial in planned])
    third, fourth = (trial.id for trial in store.trials.of(sweep) if trial.id not in (first, second))
    end(store, third, TrialState.COMPLETED, 20.0)
    end(store, fourth, TrialState.COMPLETED, 12.0)
    (group,) = best_answer(store, sweep)["groups"]
    assert group["winner"]["area"] == 15.0
    assert group["in_doubt"]
