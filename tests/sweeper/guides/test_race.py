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

NEVER = 0.9999  # a level at which noisy settings are not told apart by a few seeds
ROUGH = {8: 1.5, 16: 1.01, 32: 1.0, 64: 4.0}  # mean losses by batch size; seeds are a hundredth around them


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
    watcher, spread = others.pop("watcher", Watcher()), others.pop("spread", 0.01)
    executor = StoppingExecutor(partial(noisy, means, spread=spread), seats=seats)
    Scheduler(store, executor, watcher, guide=guide, **others).run(sweep)


def seeds(store: Store, sweep: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for trial in store.trials.of(sweep):
        found.setdefault(trial.config["batch_size"], []).append(trial.config["seed"])
    return found


def told(store: Store, sweep: str) -> dict[str, Any]:
    """What is recommended of a sweep's only group."""
    (group,) = best_answer(store, sweep, recommend=True)["groups"]
    found: dict[str, Any] = group["recommended"]
    return found


@pytest.mark.parametrize("seats", [1, 3])
def test_only_those_that_may_still_win_get_further_seeds_until_one_does(store: Store, seats: int) -> None:
    sweep = submit(store)
    run(store, sweep, {**ROUGH, 32: 1.04}, seats=seats, spread=0.04)
    found, answer = seeds(store, sweep), told(store, sweep)
    assert answer["parameters"]["batch_size"] == 16
    assert answer["probability"] >= 0.95
    assert found[16] == list(range(len(found[16])))
    assert len(found[8]) == len(found[64]) == 2
    assert 4 < len(found[16]) + len(found[32]) <= 20


def test_it_ends_at_the_wanted_regret(store: Store) -> None:
    means = {4 + n: 1.0 + 0.02 * (n - 3) ** 2 for n in range(8)}
    wide, narrow = (submit(store, {"regret": regret}, means, name=f"wanted {regret}") for regret in ("5%", 0.001))
    for sweep in (wide, narrow):
        run(store, sweep, means, spread=0.03)
    assert {size: len(found) for size, found in seeds(store, wide).items()} == dict.fromkeys(means, 1)
    assert told(store, wide)["expected_regret"] <= 0.05
    assert told(store, narrow)["expected_regret"] <= told(store, narrow)["small_regret"] == 0.001
    assert told(store, narrow)["more_seeds"] == told(store, wide)["more_seeds"] == 0
    assert told(store, narrow)["parameters"]["batch_size"] == 7
    found = seeds(store, narrow)
    assert len(found[11]) == 1
    assert sum(len(found[size]) for size in (6, 7, 8)) > sum(len(found[size]) for size in (4, 5, 9, 10, 11))


def test_those_that_are_alike_get_as_many_as_there_may_be(store: Store) -> None:
    alike = {8: 1.0, 16: 1.0, 64: 4.0}
    sweep = submit(store, {"at_least": 3, "at_most": 5, "level": NEVER}, alike)
    run(store, sweep, alike)
    assert {size: len(found) for size, found in seeds(store, sweep).items()} == {8: 5, 16: 5, 64: 3}
    group = best_answer(store, sweep)["groups"][0]
    assert not group["separated"]


@pytest.mark.parametrize("most", [8, 9, 11])
def test_a_budget_of_trials_ends_it(store: Store, most: int) -> None:
    alike = {8: 1.0, 16: 1.0, 32: 1.0, 64: 1.0}
    sweep = submit(store, {"method": "auto", "trials": most, "level": NEVER}, alike)
    run(store, sweep, alike)
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
    assert told(store, pieces)["probability"] >= 0.95
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
    assert (group["winner"]["parameters"]["batch_size"], group["in_doubt"]) == (32, [])
    assert told(store, sweep)["probability"] >= 0.95


def test_a_seed_that_failed_is_followed_by_another(store: Store) -> None:
    sweep = submit(store, {"at_most": 4, "level": NEVER}, sizes := {8: 1.0, 16: 1.0})
    trial = store.trials.of(sweep)[1]
    store.attempts.claim(trial.id)
    store.attempts.finish(trial.id, 1, TrialState.FAILED, summarize([]))
    run(store, sweep, sizes)
    assert {size: len(found) for size, found in seeds(store, sweep).items()} == {8: 4, 16: 4}
    assert best_answer(store, sweep)["groups"][0]["qualified"] == 7


def setting(rate: float, *areas: float) -> list[Candidate]:
    return [
        Candidate(f"{rate}-{seed}", {"learning_rate": rate, "seed": seed}, TrialState.COMPLETED, True, area, 1.0)
        for seed, area in enumerate(areas)
    ]


def asked(race: Race, *settings: list[Candidate]) -> list[float]:
    """The rates of those that are due."""
    (group,) = rank_groups([trial for one in settings for trial in one], None, (), race)
    tried = {setting_key(one[0].parameters): len(one) for one in settings}
    return [one.parameters["learning_rate"] for one in due(group, race, tried, None)]


def test_of_few_trials_those_are_due_that_tests_do_not_tell_from_the_best() -> None:
    best, near = setting(0.1, 1.0, 1.1, 1.05), setting(0.2, 1.1, 1.0)
    assert asked(Race(), best, near) == [0.2]  # who has fewer comes first
    assert asked(Race(), best[:2], near) == [0.1, 0.2]
    assert asked(Race(at_most=2), best[:2], near) == []
    assert asked(Race(level=0.9, at_most=3), setting(0.1, 1.0, 1.01), setting(0.2, 90.0, 91.0)) == []
    assert asked(Race(), best) == []
    assert asked(Race(), setting(0.1, 1.0), setting(0.2, 1.2)) == [0.1, 0.2]  # one seed tells nothing
    assert asked(Race(regret=0.01), setting(0.1, 1.0), setting(0.2, 1.2)) == [0.1, 0.2]


def test_of_more_trials_those_are_due_whose_seeds_tell_most() -> None:
    best, near, far = setting(0.1, 1.0, 1.04, 1.02), setting(0.2, 1.04, 1.0), setting(0.3, 90.0, 99.0, 95.0)
    assert asked(Race(), best, near, far) == [0.2]
    assert asked(Race(at_most=2), best, near, far) == []
    assert asked(Race(at_most=3), best, near, far) == [0.2]
    assert asked(Race(regret=0.05), best, near, far) == []
    assert asked(Race(regret=0.0001), best, near, far) == [0.2]
    clear = setting(0.2, 1.5, 1.55)
    assert asked(Race(), best, clear, far) == asked(Race(regret=0.001), best, clear, far) == []


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
    assert proposed
    for size in {trial.parameters["batch_size"] for trial in proposed}:
        own = [trial.parameters["seed"] for trial in proposed if trial.parameters["batch_size"] == size]
        assert own == list(range(2, 2 + len(own)))
    assert guide.propose() == proposed
