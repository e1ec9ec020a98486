"""What only Ray does: seats by placement groups, actors that may die, a Ray of our own beside the user's.

The process that runs these tests has a Ray of its own before ours starts, as a notebook may. Both are started once.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest
import ray

from engine.protocol import Ended, Failed, Point, Ready, Started
from sweeper.errors import LaunchError
from sweeper.gangs.base import Executor, Job
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.seats import Capacity, Seats
from tests.contracts.jobs import ENDLESS, drain, job, losses, ranks_of, until_first_point
from tests.processes import eventually, processes_with, words_of

TAG = "SWEEPER_TEST_TAG"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the Ray that the user of this process has."""
    folder = tmp_path_factory.mktemp("r")
    with patch.dict(os.environ):  # into which Ray puts settings of its own
        ray.init(address="local", num_cpus=1, include_dashboard=False, _temp_dir=str(folder), log_to_driver=False)
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


@pytest.fixture(scope="module")
def executor(theirs: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayExecutor]:
    """Our own Ray, with a tag that all of its processes inherit."""
    tag = str(tmp_path_factory.mktemp("tag"))
    yielding = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}  # a rank that waits leaves the core to others
    with patch.dict(os.environ, {TAG: tag, "RAY_ADDRESS": theirs, **yielding}):  # theirs, which is not to be joined
        made = RayExecutor(capacity=Capacity((Seats(3),)))
        yield made
        made.close()
        assert eventually(lambda: not _ours())


def _ours() -> list[psutil.Process]:
    return [p for p in processes_with(TAG, os.environ[TAG]) if p.pid != os.getpid()]


def actor_of(rank: int) -> psutil.Process:
    return next(p for p in psutil.Process(rank).parents() if p.name().startswith("ray::"))


def wide(tmp_path: Path, name: str) -> Job:
    """One rank on two of the three seats."""
    return replace(job(tmp_path, name), cpus_per_worker=2)


def test_a_private_ray_has_the_seats_that_it_is_given_and_listens_on_loopback_only(executor: RayExecutor) -> None:
    assert executor.capacity() == Capacity((Seats(3),))
    listening = {
        connection.laddr.ip.removeprefix("::ffff:")
        for process in _ours()
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_a_gang_sits_in_an_actor_and_stays_for_the_next_job_of_its_shape(executor: Executor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "first", workers=2))
    first = drain(executor, "first")["first"]
    kinds = [type(e.event) for e in first]
    assert kinds == [Ready, Started, *[Point] * (len(kinds) - 3), Ended]
    assert actor_of(ranks_of(first)[0]) in _ours()
    executor.start(job(tmp_path, "second", workers=2))
    second = drain(executor, "second")["second"]
    assert losses(first) == losses(second)
    assert first[0].gang_id == second[0].gang_id
    assert {e.log for e in (*first, *second)} == {str(tmp_path / "first.log")}


def test_an_actor_that_dies_fails_its_job_and_the_next_job_gets_another(executor: Executor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "bereft", workers=2, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    actor_of(pids[0]).kill()
    failed = drain(executor, "bereft")["bereft"][-1].event
    assert isinstance(failed, Failed)
    assert failed.reason == "the actor of the gang is gone (ActorDiedError)"
    assert eventually(lambda: not any(map(psutil.pid_exists, pids)))
    executor.start(job(tmp_path, "next", workers=2))
    assert isinstance(drain(executor, "next")["next"][-1].event, Ended)


def test_what_cannot_be_started_in_an_actor_says_why(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(tmp_path / "mpiexec"))
    executor.start(job(tmp_path, "hopeless"))
    (event,) = drain(executor, "hopeless")["hopeless"]
    assert isinstance(event.event, Failed)
    assert "cannot be run" in event.event.reason
    assert "SWEEPER_MPIEXEC" in event.event.reason


def test_a_gang_of_another_shape_gets_the_seats_of_an_idle_one(executor: Executor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "narrow", workers=2))
    narrow = ranks_of(drain(executor, "narrow")["narrow"])
    executor.start(wide(tmp_path, "wide"))
    assert isinstance(drain(executor, "wide")["wide"][-1].event, Ended)
    assert not any(map(psutil.pid_exists, narrow))


def test_a_cluster_is_joined_and_left_as_it_was(theirs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TAG, str(tmp_path))
    executor = RayExecutor(theirs)
    assert executor.capacity() == Capacity((Seats(1),))
    executor.start(job(tmp_path, "guest"))
    assert isinstance(drain(executor, "guest")["guest"][-1].event, Ended)
    executor.close()
    assert eventually(lambda: not _ours())
    assert ray.get(ray.remote(lambda: "free").remote(), timeout=20) == "free"  # its only core


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", r"Ray at 127\.0\.0\.1:1 does not answer .*RAY_AUTH_TOKEN_PATH"),
        ("ray://127.0.0.1:1", "Ray address ray://127.0.0.1:1: not the address of a cluster's control service"),
        ("somewhere", "Ray address somewhere: not the address"),
    ],
)
def test_a_ray_that_does_not_answer_is_a_launch_error(address: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        RayExecutor(address)


def test_closing_ends_all_of_ours_and_leaves_the_users_ray(executor: Executor, tmp_path: Path) -> None:
    executor.start(wide(tmp_path, "idle"))
    drain(executor, "idle")
    executor.start(job(tmp_path, "busy", images=ENDLESS, points=10_000))
    until_first_point(executor)
    executor.close()
    executor.close()
    assert eventually(lambda: not _ours())
    assert not any(isinstance(e.event, Ended | Failed) for e in executor.events(0.0))
    assert ray.get(ray.remote(lambda: "still here").remote()) == "still here"


@pytest.mark.long
def test_a_ray_that_dies_fails_no_trial_that_waits(tmp_path: Path) -> None:
    """All that runs or waits is resumed; before, ten trials that waited had failed by then."""
    (tmp_path / "spec.yaml").write_text(
        f"name: bereft\ntrial: {{model: neuron, data: step-function, images: {ENDLESS}, points: 100000}}\n"
        "space: {seed: {low: 0, high: 19, step: 1}, workers: [1]}\n"
    )
    words = [sys.executable, "-m", "sweeper.cli", "run", "spec.yaml"]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    with (tmp_path / "said").open("w") as said:
        run = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=said, stderr=said)
    try:
        assert eventually(lambda: _points(tmp_path / "sweeper.db") > 0, 60), (tmp_path / "said").read_text()
        drivers = [p for p in psutil.Process(run.pid).children() if "sweeper.gangs.ray.driver" in words_of(p)]
        drivers[0].kill()
        assert run.wait(60) == 1
    finally:
        run.kill()
    assert "error: Ray on this machine has died (" in (tmp_path / "said").read_text()
    with closing(sqlite3.connect(tmp_path / "sweeper.db")) as store:
        assert store.execute("SELECT DISTINCT state FROM trial").fetchall() == [("pending",)]


def _points(database: Path) -> int:
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as store, suppress(sqlite3.OperationalError):  # no tables yet
        return int(store.execute("SELECT count(*) FROM loss_point").fetchone()[0])
    return 0
