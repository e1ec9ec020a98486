"""The race: who gets another seed, when it ends, and that it goes on from what the store has."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.protocol import Ended, Event, Point, Ready, Started
from sweeper.answers.best import best_answer
from sweeper.gangs.base import Job
from sweeper.guides import Guide, RacingGuide, guide_for
from sweeper.guides.race import due
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import summarize
from sweeper.ranking.settings import rank_groups, setting_key
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.spec.repeats import Race
from sweeper.store import Store, open_store
from tests.sweeper.scheduling.scripted import StoppingExecutor, Watcher, has_seen

ROUGH = {8: 1.5, 16: 1.02, 32: 1.0, 64: 4.0}  # mean losses by batch size; seeds are a hundredth around them


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/sweeper.db")
    yield opened
    opened.close()


def noisy(means: Mapping[int, float], job: Job, spread: float = 0.01) -> list[Event]:
    """A flat curve whose height is the setting's, but for what the seed does to it."""
    size, trial = job.config["batch_size"], job.trial_id
    loss = means[size] * (1 + spread * random.Random(f"{size} {job.config['seed']}").gauss(0, 1))
    points: list[Event] = [Point(trial, n, 8 * n, n / 10, loss) for n in range(1, 6)]
    started = Started(trial, 0.5, {"steps": 5})
    return [Ready(1, [1], ["host"], {}), started, *points, Ended(trial, "completed", 5, 40, 0.5)]


def submit(store: Store, repeats: Any = "auto", sizes: Mapping[int, float] = ROUGH, **others: Any) -> str:
    space = {"workers": [1], "batch_size": list(sizes)}
    written = {"name": "race", "trial": {"images": 80}, "space": space, "objective": {"over": "images"}}
    spec = parse_spec({**written, "repeats": repeats, **others})
    return store.sweeps.add(spec, plan(spec))


def run(store: Store, sweep: str, means: Mapping[int, float] = ROUGH, seats: int = 2, **others: Any) -> None:
    guide = guide_for(store.sweeps.find(sweep), store.trials.of(sweep), store.attempts.points)
    watcher = others.pop("watcher", Watcher())
    Scheduler(store, StoppingExecutor(partial(noisy, means), seats=seats), watcher, guide=guide, **others).run(sweep)


def seeds(store: Store, sweep: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for trial in store.trials.of(sweep):
        found.setdefault(trial.config["batch_size"], []).append(trial.config["seed"])
    return found


@pytest.mark.parametrize("seats", [1, 3])
def test_only_those_that_may_still_win_get_further_seeds_until_one_does(store: Store, seats: int) -> None:
    sweep = submit(store)
    run(store, sweep, seats=seats)
    found = seeds(store, sweep)
    group = best_answer(store, sweep)["groups"][0]
    assert group["winner"]["parameters"]["batch_size"] == 32
    assert (group["separated"], group["undecided"]) == (True, 0)
    assert found[32] == list(range(len(found[32])))
    assert len(found[8]) < len(found[16]) <= len(found[32]) <= 10
    assert len(found[64]) <= len(found[8])
    assert "for 9 looks" in group["comparison"]["correction"]
    assert group["runner_up"]["repeats"] == len(found[16])


def test_those_that_are_alike_get_as_many_as_there_may_be(store: Store) -> None:
    alike = {8: 1.0, 16: 1.0, 64: 4.0}
    sweep = submit(store, {"at_least": 3, "at_most": 5}, alike)
    run(store, sweep, alike)
    assert {size: len(found) for size, found in seeds(store, sweep).items()} == {8: 5, 16: 5, 64: 3}
    group = best_answer(store, sweep)["groups"][0]
    assert (group["separated"], group["undecided"]) == (False, 1)


@pytest.mark.parametrize("most", [8, 9, 11])
def test_a_budget_of_trials_ends_it(store: Store, most: int) -> None:
    sweep = submit(store, {"method": "auto", "trials": most})
    run(store, sweep)
    assert len(store.trials.of(sweep)) == most


def test_after_interrupts_it_is_the_same_race(store: Store) -> None:
    whole, pieces = submit(store), submit(store, name="pieces")
    run(store, whole)
    watcher = Watcher()
    for points in range(20, 400, 23):
        try:
            run(store, pieces, watcher=watcher, interrupts=partial(has_seen, watcher, points))
        except KeyboardInterrupt:
            continue
        break
    else:
        pytest.fail("it did not come to its end")
    assert seeds(store, pieces) == seeds(store, whole)
    assert best_answer(store, pieces)["groups"][0]["separated"]
    before = len(store.trials.of(pieces))
    run(store, pieces)
    assert len(store.trials.of(pieces)) == before


def test_two_schedulers_run_one_race_together(store: Store) -> None:
    alone, shared = submit(store), submit(store, name="shared")
    run(store, alone)
    threads = [threading.Thread(target=run, args=(store, shared), kwargs={"seats": 1}) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seeds(store, shared) == seeds(store, alone)
    assert all(trial.state is TrialState.COMPLETED and trial.attempt == 1 for trial in store.trials.of(shared))


def test_each_group_has_a_race_of_its_own(store: Store) -> None:
    sweep = submit(store, space={"workers": [1, 2], "batch_size": [8, 32]}, objective={"group_by": ["workers"]})
    run(store, sweep)
    groups = best_answer(store, sweep)["groups"]
    assert [group["winner"]["parameters"]["batch_size"] for group in groups] == [32, 32]
    assert all(group["separated"] for group in groups)


@pytest.mark.parametrize("seats", [1, 2, 4])
def test_with_pruning_what_is_out_of_reach_of_the_best_one_is_stopped(store: Store, seats: int) -> None:
    means = {8: 6.0, 16: 1.02, 32: 1.0, 64: 1.5}  # the largest batches run first
    sweep = submit(store, {"at_least": 3}, prune="area")
    run(store, sweep, means, seats=seats)
    states = {size: set[TrialState]() for size in means}
    for trial in store.trials.of(sweep):
        states[trial.config["batch_size"]].add(trial.state)
    assert TrialState.PRUNED in states[8]
    assert states[16] == states[32] == {TrialState.COMPLETED}
    group = best_answer(store, sweep)["groups"][0]
    assert group["winner"]["parameters"]["batch_size"] == 32
    assert (group["separated"], group["in_doubt"]) == (True, [])


def test_a_seed_that_failed_is_followed_by_another(store: Store) -> None:
    sweep = submit(store, {"at_most": 4}, sizes := {8: 1.0, 16: 1.0})
    trial = store.trials.of(sweep)[1]
    store.attempts.claim(trial.id)
    store.attempts.finish(trial.id, 1, TrialState.FAILED, summarize([]))
    run(store, sweep, sizes)
    assert {size: len(found) for size, found in seeds(store, sweep).items()} == {8: 4, 16: 4}
    assert best_answer(store, sweep)["groups"][0]["qualified"] == 7


def test_who_is_due() -> None:
    def setting(rate: float, *areas: float) -> list[Candidate]:
        return [
            Candidate(f"{rate}-{seed}", {"learning_rate": rate, "seed": seed}, TrialState.COMPLETED, True, area, 1.0)
            for seed, area in enumerate(areas)
        ]

    def asked(race: Race, *settings: list[Candidate]) -> list[float]:
        trials = [trial for one in settings for trial in one]
        (group,) = rank_groups(trials, None, (), race)
        tried = {setting_key(one[0].parameters): set(range(len(one))) for one in settings}
        return [one.parameters["learning_rate"] for one in due(group, race, tried)]

    best, near, far = setting(0.1, 1.0, 1.1, 1.05), setting(0.2, 1.1, 1.0, 1.1), setting(0.3, 90.0, 99.0, 95.0)
    assert asked(Race(), best, near, far) == [0.1, 0.2]
    assert asked(Race(), best, near[:2], far) == [0.2]  # who has fewer comes first
    assert asked(Race(at_most=3), best, near, far) == []
    assert asked(Race(level=0.9, at_most=3), best, far) == []
    assert asked(Race(), best) == []
    assert asked(Race(), best, setting(0.2, 1.2)) == [0.2]  # one seed tells nothing


def test_nothing_is_proposed_while_a_trial_of_the_group_has_to_end(store: Store) -> None:
    sweep = submit(store)
    trials = store.trials.of(sweep)
    guide = RacingGuide(Guide(), Race(), store.sweeps.find(sweep), trials)
    ended = [
        trial.candidate("images")._replace(state=TrialState.COMPLETED, area=1.0 + math.sin(n), minimum_loss=1.0)
        for n, trial in enumerate(trials)
    ]
    guide.learn(ended[:-1])
    assert guide.propose() == []
    guide.learn(ended)
    proposed = guide.propose()
    assert {trial.parameters["seed"] for trial in proposed} == {2}
    assert guide.propose() == proposed
