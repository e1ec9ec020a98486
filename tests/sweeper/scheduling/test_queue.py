"""Sweeps of which a scheduler reads a few trials at a time: they run as if it had read all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.scheduling import queue
from sweeper.scheduling.queue import Queue
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import Store
from tests.sweeper.scheduling.scripted import ScriptedExecutor, TickingClock, Watcher, completes, fails, submit


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_MOST", 2)


def sizes(*numbers: int) -> list[int]:
    return list(range(*numbers))


@pytest.mark.parametrize("clock", [TickingClock(), TickingClock(0.0)], ids=["looks round", "never looks round"])
def test_all_trials_run_in_the_order_of_the_plan(store: Store, clock: TickingClock) -> None:
    sweep = submit(store, batch_size=sizes(1, 12))
    watcher = Watcher()
    Scheduler(store, ScriptedExecutor(), watcher, clock).run(sweep)
    assert watcher.started == [trial.id for trial in store.trials.of(sweep)]


def test_what_fits_runs_beside_what_does_not_however_far_behind_it_is(store: Store) -> None:
    """Trials of 2 workers, all before those of 1, leave a seat of three free at a time."""
    sweep = submit(store, workers=[2, 1], batch_size=sizes(1, 8))
    executor = ScriptedExecutor(seats=3)
    Scheduler(store, executor, Watcher()).run(sweep)
    assert [job.workers for job in executor.started[:2]] == [2, 1]
    assert executor.most_seats == 3
    both = [job.workers for job in executor.started]
    assert (both.count(1), both.count(2)) == (7, 7)
    assert set(both[:10]) == {1, 2}


def test_trials_of_other_resources_that_are_added_run_beside_the_rest(store: Store) -> None:
    """They have the same workers, and the first of them is far behind."""
    large = {"name": "scheduled", "space": {"batch_size": sizes(1, 10)}, "resources": {"cpus_per_worker": 2}}
    spec = parse_spec(large)
    sweep = store.sweeps.add(spec, plan(spec))
    more = plan(parse_spec({**large, "space": {"batch_size": sizes(20, 26)}, "resources": {"cpus_per_worker": 1}}))
    watcher = Watcher(at_point=lambda: store.sweeps.extend(sweep, more))
    executor = ScriptedExecutor(seats=3)
    Scheduler(store, executor, watcher, TickingClock()).run(sweep)
    assert executor.most_seats == 3
    assert [trial.state for trial in store.trials.of(sweep)] == [TrialState.COMPLETED] * 15
    assert 1 in [job.cpus_per_worker for job in executor.started[:4]]


def test_trials_that_fail_are_tried_again_before_others(store: Store) -> None:
    sweep = submit(store, batch_size=sizes(1, 8))
    first = store.trials.of(sweep)[0].id
    executor = ScriptedExecutor(
        lambda job: fails(job) if job.trial_id == first and job.attempt == 1 else completes(job), seats=1
    )
    Scheduler(store, executor, Watcher(), retries=1).run(sweep)
    assert [job.trial_id for job in executor.started[:3]] == [first, first, store.trials.of(sweep)[1].id]
    assert len(executor.started) == 8


def test_two_schedulers_share_what_waits(store: Store) -> None:
    sweep = submit(store, batch_size=sizes(1, 30))
    executors = ScriptedExecutor(seats=1), ScriptedExecutor(seats=1)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda one: Scheduler(store, one, Watcher(), TickingClock()).run(sweep), executors))
    done = [job.trial_id for executor in executors for job in executor.started]
    assert sorted(done) == sorted(trial.id for trial in store.trials.of(sweep))
    assert {trial.state for trial in store.trials.of(sweep)} == {TrialState.COMPLETED}


def test_a_sweep_that_is_stopped_ends(store: Store) -> None:
    sweep = submit(store, batch_size=sizes(1, 12))
    cancelled: list[int] = []

    def stop() -> None:
        if not cancelled:
            cancelled.append(store.sweeps.ask_to_stop(sweep))

    executor = ScriptedExecutor(seats=1)
    Scheduler(store, executor, Watcher(stop), TickingClock()).run(sweep)
    assert (len(executor.started), cancelled) == (1, [10])
    assert not store.trials.of(sweep, [TrialState.PENDING, TrialState.RUNNING])


def test_a_queue_lacks_what_it_has_read_to_its_end_only_if_more_waits(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[1, 2, 3])
    waits = Queue(store, sweep, whole=False)
    first = waits.read(())
    assert [(trial.workers, trial.parameters["batch_size"]) for trial in first] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert not waits.lacks(first)
    assert waits.lacks(first[2:])
    for trial in first[:2]:
        store.attempts.claim(trial.id)
    assert [trial.workers for trial in waits.read(())] == [1, 2, 2]
    assert not waits.lacks(first[2:]), "the last one of 1 was read"
    assert [trial.position for trial in Queue(store, sweep, whole=True).read({first[2].id})] == [2, 4, 5]


def test_trials_that_one_network_serves_follow_each_other(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_MOST", 200)
    sweep = submit(store, learning_rate=[0.1, 0.2], batch_size=[8, 16], seed=[0, 1])
    found = Queue(store, sweep, whole=False).read(set())
    assert [t.parameters["batch_size"] for t in found] == [8] * 4 + [16] * 4
    rates = [(t.parameters["learning_rate"], t.parameters["seed"]) for t in found]
    assert rates == 2 * [(0.1, 0), (0.1, 1), (0.2, 0), (0.2, 1)], "otherwise in the order of the plan"
