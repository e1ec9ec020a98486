"""Who leads while a sweep runs: the same as if all trials were ranked each time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sweeper.answers.cost import candidate_over
from sweeper.answers.standings import Standings
from sweeper.plan import plan, with_seed
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import CurveSummary
from sweeper.ranking.settings import rank_groups, repeats_of
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord

SPECS: dict[str, dict[str, Any]] = {
    "workers": {},
    "other fields": {"objective": {"threshold": 0.5, "group_by": ["momentum", "workers"]}},
    "dollars": {"objective": {"over": "dollars"}, "resources": {"dollars_per_worker_hour": 2.0}},
    "seeds": {"repeats": 2, "objective": {"threshold": 0.5}},
    "a race": {"repeats": "auto"},
}


def check(standings: Standings, store: Store, sweep: SweepRecord) -> None:
    trials = store.trials.of(sweep.id)
    candidates = [candidate_over(trial, sweep.over, sweep.spec.rate) for trial in trials]
    repeats = repeats_of(sweep.spec, (one.parameters for one in candidates))
    groups = rank_groups(candidates, sweep.threshold, sweep.group_by, repeats)
    found = standings.groups()
    assert [(one.key, one.qualified, one.competitors, one.best_minimum_loss) for one in found] == [
        (one.key, len(one.ranking), one.competitors, one.best_minimum_loss) for one in groups
    ]
    leaders = [one.leader.trial if one.leader else None for one in found]
    assert leaders == [one.winner.trial if one.winner else None for one in groups]
    leading = {trial.trial for one in groups if one.winner for trial in one.winner.trials}
    assert {trial.id for trial in trials if standings.leads(trial.id)} == leading
    assert (standings.ended, standings.total) == (sum(trial.state.ended for trial in trials), len(trials))


@pytest.mark.parametrize("name", SPECS)
def test_standings_are_those_of_a_ranking_of_all(store: Store, name: str) -> None:
    space = {"momentum": [0.1, 0.2, 0.3], "learning_rate": [0.1, 0.2], "workers": [2, 1]}
    spec = parse_spec({"name": "mine", "space": space, **SPECS[name]})
    sweep = store.sweeps.find(store.sweeps.add(spec, plan(spec)))
    order = random.Random(0)
    standings = Standings(store, sweep)
    check(standings, store, sweep)
    trials = [trial.id for trial in store.trials.of(sweep.id)]
    order.shuffle(trials)
    for number, trial in enumerate(trials):
        attempt = store.attempts.claim(trial) or 0
        standings.note(store.trials.find(trial))
        loss, area = order.choice([0.3, 0.4, 0.6]), order.choice([1.0, 2.0, 3.0])
        states = [TrialState.COMPLETED] * 4 + [TrialState.PRUNED, TrialState.DIVERGED, TrialState.FAILED]
        finite = order.random() < 0.9
        summary = CurveSummary(3, finite, loss, loss, 10.0, 30, 3, *([area] * 3 if finite else [None] * 3))
        shared = order.random() < 0.2
        store.attempts.finish(trial, attempt, order.choice(states), summary, oversubscribed=shared)
        standings.note(store.trials.find(trial))
        check(standings, store, sweep)
        if number % 5 == 0:
            standings = Standings(store, store.sweeps.find(sweep.id))


def test_results_that_are_replaced_are_not_counted_twice(store: Store) -> None:
    spec = parse_spec({"name": "mine", "space": {"learning_rate": [0.1, 0.2]}, "objective": {"over": "steps"}})
    sweep = store.sweeps.find(store.sweeps.add(spec, plan(spec)))
    standings = Standings(store, sweep)
    ids = [trial.id for trial in store.trials.of(sweep.id)]
    for trial, area in zip(ids, (1.0, 2.0), strict=True):
        store.attempts.claim(trial)
        summary = CurveSummary(3, True, area, area, 10.0, 30, 3, area, area, area)
        store.attempts.finish(trial, 1, TrialState.COMPLETED, summary, oversubscribed=True)
        standings.note(store.trials.find(trial))
    check(standings, store, sweep)
    store.sweeps.repeat(sweep.id, ids[:1])
    store.attempts.claim(ids[0])
    standings.note(store.trials.find(ids[0]))
    assert (standings.ended, standings.total) == (1, 2)
    check(standings, store, sweep)
    store.attempts.finish(ids[0], 2, TrialState.COMPLETED, CurveSummary(3, True, 3.0, 3.0, 9.0, 30, 3, 3.0, 3.0, 3.0))
    standings.note(store.trials.find(ids[0]))
    check(standings, store, sweep)
    assert standings.leads(ids[1])


def test_further_seeds_count_with_their_settings(store: Store) -> None:
    spec = parse_spec({"name": "mine", "space": {"learning_rate": [0.1, 0.2]}, "objective": {"over": "steps"}})
    sweep = store.sweeps.find(store.sweeps.add(spec, plan(spec)))
    best, other = store.trials.of(sweep.id)
    store.sweeps.extend(sweep.id, [with_seed(best.planned, 1)])
    further = store.trials.of(sweep.id)[-1]
    standings = Standings(store, sweep)
    for trial, area in ((best, 1.0), (other, 2.0), (further, 4.0)):
        store.attempts.claim(trial.id)
        summary = CurveSummary(3, True, area, area, 10.0, 30, 3, area, area, area)
        store.attempts.finish(trial.id, 1, TrialState.COMPLETED, summary)
        standings.note(store.trials.find(trial.id))
        check(standings, store, sweep)
    assert standings.leads(other.id)
