"""A service's sweeps, run by real schedulers with real ranks: in order, after a restart, with what cannot be run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sweeper.plan.trial import TrialState
from sweeper.service import Policy, Runner, submit
from sweeper.store import Store, open_store
from tests.processes import eventually, processes_with, words_of

LOCAL = Policy(executor="local")
TAG = "SWEEPER_TEST_TAG"


def spec(name: str, images: int = 640, rates: tuple[float, ...] = (0.1, 0.2)) -> dict[str, Any]:
    trial = {"model": "neuron", "data": "step-function", "images": images, "points": max(10, images // 1000)}
    return {"name": name, "trial": trial, "space": {"learning_rate": list(rates)}}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TAG, str(tmp_path))
    return f"sqlite:///{tmp_path / 'sweeper.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    yield store
    store.close()


@pytest.fixture
def runner(store: Store, url: str) -> Iterator[Runner]:
    runner = Runner(store, url, LOCAL)
    yield runner
    runner.close()


def others(tmp_path: Path) -> list[int]:
    return [p.pid for p in processes_with(TAG, str(tmp_path)) if p.pid != os.getpid()]


def is_completed(store: Store, sweep_id: str) -> bool:
    return store.sweeps.find(sweep_id).state == "completed"


def is_stopped(store: Store, sweep_id: str) -> bool:
    return store.sweeps.find(sweep_id).state == "stopped"


def test_sweeps_run_in_their_order_and_what_cannot_run_is_passed_over(store: Store, url: str, tmp_path: Path) -> None:
    broken = {**spec("broken"), "trial": {"model": "nowhere_at_all:Network", "data": "step-function", "images": 640}}
    allowing = Policy(executor="local", allow_code=True)
    ids = [submit(store, one, one["name"], allowing)[0] for one in (spec("first"), broken, spec("last"))]
    runner = Runner(store, url, allowing)
    runner.start()
    try:
        assert eventually(lambda: is_completed(store, ids[0]) and is_completed(store, ids[2]), 90)
        found = store.submissions.of(ids[1])
        assert found
        assert found.problem
        assert "nowhere_at_all" in found.problem["message"]
        assert store.sweeps.find(ids[1]).state == "waiting"
        first, last = ([t for one in store.trials.of(i) for t in store.attempts.of(one.id)] for i in (ids[0], ids[2]))
        assert max(one.ended_at for one in first if one.ended_at) < min(one.started_at for one in last)
        assert runner.is_alive()
    finally:
        runner.close()
    assert not runner.is_alive()
    assert eventually(lambda: not others(tmp_path))


def test_a_service_that_ends_lets_its_trials_wait_and_the_next_one_goes_on(
    store: Store, url: str, runner: Runner, tmp_path: Path
) -> None:
    sweep_id, _ = submit(store, spec("long", images=10**8), "key", LOCAL)
    runner.start()
    assert eventually(lambda: bool(store.progress.running(sweep_id)), 60)
    runner.close()
    assert store.sweeps.find(sweep_id).states == {TrialState.PENDING: 2}
    assert eventually(lambda: not others(tmp_path))
    again = Runner(store, url, LOCAL)
    again.start()
    try:
        assert eventually(lambda: bool(store.progress.running(sweep_id)), 60)
        store.sweeps.ask_to_stop(sweep_id)
        assert eventually(lambda: is_stopped(store, sweep_id), 60)
    finally:
        again.close()
    assert eventually(lambda: not others(tmp_path))


def test_a_scheduler_that_is_killed_is_told_and_leaves_nothing_running(store: Store, runner: Runner) -> None:
    sweep_id, _ = submit(store, spec("long", images=10**8), "key", LOCAL)
    after, _ = submit(store, spec("after"), "key 2", LOCAL)
    runner.start()
    assert eventually(lambda: bool(store.progress.running(sweep_id)), 60)
    (scheduler,) = [p for p in psutil.Process().children() if "sweeper.service.sweep_process" in words_of(p)]
    os.kill(scheduler.pid, signal.SIGKILL)
    assert eventually(lambda: is_completed(store, after), 60)
    found = store.submissions.of(sweep_id)
    assert found
    assert found.problem
    assert "exit code -9" in found.problem["message"]
    store.submissions.note_problem(sweep_id, None)
    assert eventually(lambda: bool(store.progress.running(sweep_id)) and runner.sweep == sweep_id, 60)
    store.sweeps.ask_to_stop(sweep_id)
    assert eventually(lambda: is_stopped(store, sweep_id), 60)


def test_a_scheduler_that_fails_is_told_and_not_begun_again_and_again(store: Store, tmp_path: Path) -> None:
    sweep_id, _ = submit(store, spec("broken"), "key", LOCAL)
    runner = Runner(store, f"sqlite:///{tmp_path}/none/sweeper.db", LOCAL)  # which its schedulers cannot open
    runner.start()
    try:
        assert eventually(lambda: bool((found := store.submissions.of(sweep_id)) and found.problem), 60)
        found = store.submissions.of(sweep_id)
        assert found
        assert found.problem
        assert "its scheduler ended with exit code 1, see " in found.problem["message"]
        assert runner.is_alive()
    finally:
        runner.close()


def test_a_new_sweep_need_not_wait_for_the_next_look(store: Store, runner: Runner) -> None:
    runner.start()
    time.sleep(0.1)
    sweep_id, _ = submit(store, spec("soon"), "key", LOCAL)
    runner.look()
    assert eventually(lambda: is_completed(store, sweep_id), 60)
