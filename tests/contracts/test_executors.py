"""One contract for all executors: real MPI gangs under Ray, SLURM and this process, and a fake that starts none.

What Ray does besides, and what is worth a look in every run, is in `tests/sweeper/gangs/ray`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.protocol import Ended, Failed, Point, Ready, Started
from engine.shared_memory import mapped_segments
from sweeper.errors import LaunchError
from sweeper.gangs.base import Executor, Job
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.seats import Capacity, Seats
from sweeper.gangs.slurm import SlurmExecutor
from sweeper.gangs.streaming import GangHandle, StreamingExecutor
from sweeper.spec.command import CommandConfig
from tests.contracts.jobs import ENDLESS, drain, job, losses, ranks_of, until, until_first_point
from tests.processes import eventually, processes_with
from tests.sweeper.slurm.site import SlurmSite

TAG = "SWEEPER_TEST_TAG"


class NothingStarts(StreamingExecutor):
    """Seats everything and starts nothing: what a machine without a working mpiexec does."""

    def capacity(self) -> Capacity:
        return Capacity((Seats(2),))

    def open_gang(self, job: Job) -> GangHandle:
        raise LaunchError(f"no gang for {job.trial_id}", "none")


KINDS = [
    "local",
    pytest.param("ray", marks=pytest.mark.long),
    pytest.param("slurm", marks=pytest.mark.long),
    "local-openmpi",
]


@pytest.fixture(scope="class", params=KINDS)
def executor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    site: SlurmSite | None = request.getfixturevalue("slurm_site") if request.param == "slurm" else None
    # A tag that all processes of this executor inherit, also through Ray's and SLURM's.
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv(TAG, str(tmp_path_factory.mktemp("tag")))
        patch.setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")  # a rank that waits leaves the core to others
        if request.param == "local-openmpi":
            openmpi = shutil.which("mpiexec.openmpi")
            if openmpi is None:
                pytest.skip("no Open MPI on this machine (Debian's openmpi-bin has it)")
            patch.setenv("SWEEPER_MPIEXEC", openmpi)
        made: Executor
        if site:
            for name, value in stack.enter_context(site.allocation()).items():
                patch.setenv(name, value)
            made = SlurmExecutor()
        elif request.param == "ray":
            made = RayExecutor(capacity=Capacity((Seats(2),)))
        else:
            made = LocalExecutor(Capacity((Seats(2),)))
        yield made
        made.close()
        assert eventually(lambda: not _others())


def _others() -> list[psutil.Process]:
    return [p for p in processes_with(TAG, os.environ[TAG]) if p.pid != os.getpid()]


class TestExecutorContract:
    """Each test is whole by itself. In this order most find a warm gang of an earlier one: a cold one costs seconds."""

    def test_capacity_is_what_it_was_given(self, executor: Executor) -> None:
        assert executor.capacity().total == Seats(2)

    def test_a_warm_gang_gives_a_cold_ones_curve_to_the_last_bit(self, executor: Executor, tmp_path: Path) -> None:
        wanted = {"workers": 2, "data": "digits", "model": "alexnet-cifar", "learning_rate": 0.05}
        executor.start(job(tmp_path, "cold", **wanted))  # type: ignore[arg-type]
        cold = drain(executor, "cold")["cold"]
        executor.start(job(tmp_path, "other", workers=2, seed=7))
        other = drain(executor, "other")["other"]
        executor.start(job(tmp_path, "warm", **wanted))  # type: ignore[arg-type]
        warm = drain(executor, "warm")["warm"]
        assert losses(cold) == losses(warm)
        assert cold[0].gang_id == other[0].gang_id == warm[0].gang_id
        assert {e.log for e in warm} == {cold[0].log}

    def test_events_come_in_order_and_end_once(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "order", workers=2))
        events = drain(executor, "order")["order"]
        kinds = [type(e.event) for e in events]
        assert kinds == [Ready, Started, *[Point] * (len(kinds) - 3), Ended]
        assert len(kinds) > 5
        ready, ended = events[0].event, events[-1].event
        assert isinstance(ready, Ready)
        assert ready.ranks == len(set(ready.pids)) == 2
        assert isinstance(ended, Ended)
        assert (ended.outcome, ended.images) == ("completed", 640)
        assert {"compute", "all-reduce", "update"} <= ended.phases.keys()
        assert {e.attempt for e in events} == {1}

    def test_an_idle_gang_makes_room_for_another_shape(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "two", workers=2))
        two = ranks_of(drain(executor, "two")["two"])
        executor.start(job(tmp_path, "one", workers=1))
        drain(executor, "one")
        assert eventually(lambda: not any(map(psutil.pid_exists, two)))

    def test_two_jobs_run_side_by_side(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "left"))
        executor.start(job(tmp_path, "right"))
        events = drain(executor, "left", "right")
        assert losses(events["left"]) == losses(events["right"])
        assert events["left"][0].gang_id != events["right"][0].gang_id

    def test_ranks_sit_on_cores_of_their_own(self, executor: Executor, tmp_path: Path) -> None:
        if len(os.sched_getaffinity(0)) < 2:
            pytest.skip("one core only")
        names = ["one", "other"]
        for name in names:
            executor.start(job(tmp_path, name, images=ENDLESS, points=10_000))
        started = [happened.event for happened in until(executor, Started, len(names))]
        for name in names:
            executor.stop(name)
        drain(executor, *names)
        cores = [tuple(event.effective["cores"]) for event in started if isinstance(event, Started)]
        assert [len(mine) for mine in cores] == [1, 1]
        assert len(set(cores)) == 2

    def test_stop_ends_a_job_at_its_next_point(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "stopped", images=ENDLESS, points=10_000))
        until_first_point(executor)
        executor.stop("no such job")
        executor.stop("stopped")
        ended = drain(executor, "stopped")["stopped"][-1].event
        assert isinstance(ended, Ended)
        assert ended.outcome == "stopped"
        assert ended.images < ENDLESS

    def test_divergence_is_an_end_with_its_point(self, executor: Executor, tmp_path: Path) -> None:
        wild = {"data": "digits", "model": "alexnet-cifar", "learning_rate": 1e6}
        executor.start(job(tmp_path, "wild", **wild))  # type: ignore[arg-type]
        events = drain(executor, "wild")["wild"]
        ended = events[-1].event
        assert isinstance(ended, Ended)
        assert ended.outcome == "diverged"
        assert not abs(losses(events)[-1]) < float("inf")

    def test_a_job_that_takes_too_long_fails(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(replace(job(tmp_path, "long", images=ENDLESS, points=10_000), limit_s=3.0))
        failed = drain(executor, "long")["long"][-1].event
        assert isinstance(failed, Failed)
        assert failed.reason.startswith("took longer than limits.trial_seconds, 3; ")

    def test_a_command_is_served_by_a_gang_of_its_own(self, executor: Executor, tmp_path: Path) -> None:
        program = "import os, sweeper; sweeper.report(loss=float(os.environ['WORLD_SIZE']))"
        config = CommandConfig(command=(sys.executable, "-c", program)).model_dump(mode="json")
        executor.start(replace(job(tmp_path, "own", workers=2), config=config))
        own = drain(executor, "own")["own"]
        assert [type(e.event) for e in own] == [Ready, Started, Point, Ended]
        assert losses(own) == [2.0]
        assert eventually(lambda: not any(map(psutil.pid_exists, ranks_of(own))))
        executor.start(job(tmp_path, "ours", workers=2))
        assert drain(executor, "ours")["ours"][0].gang_id != own[0].gang_id

    def test_an_idle_gang_that_died_is_not_used_again(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "before", workers=2))
        before = drain(executor, "before")["before"]
        os.kill(ranks_of(before)[1], signal.SIGKILL)
        assert eventually(lambda: not psutil.pid_exists(ranks_of(before)[0]))
        executor.start(job(tmp_path, "after", workers=2))
        after = drain(executor, "after")["after"]
        assert isinstance(after[-1].event, Ended)
        assert before[0].gang_id != after[0].gang_id
        assert before[0].log != after[0].log == str(tmp_path / "after.log")

    def test_a_failing_rank_fails_its_job_with_its_traceback(self, executor: Executor, tmp_path: Path) -> None:
        broken = job(tmp_path, "broken", workers=2)
        broken.config["data"] = "digits"  # numbers are what a neuron takes: refused by every rank
        executor.start(broken)
        failed = drain(executor, "broken")["broken"][-1].event
        assert isinstance(failed, Failed)
        assert failed.rank in (0, 1)
        assert failed.traceback.startswith("Traceback")
        assert "cannot learn data digits" in failed.traceback

    def test_the_next_job_runs_after_a_failure(self, executor: Executor, tmp_path: Path) -> None:
        executor.start(job(tmp_path, "next", workers=2))
        assert isinstance(drain(executor, "next")["next"][-1].event, Ended)

    @pytest.mark.parametrize("guilty", [0, 1])
    def test_a_killed_rank_fails_its_job_and_takes_the_others_along(
        self, executor: Executor, tmp_path: Path, guilty: int
    ) -> None:
        executor.start(job(tmp_path, "killed", workers=2, images=ENDLESS, points=10_000))
        pids = ranks_of(until_first_point(executor))
        segments = mapped_segments(pids)
        assert segments
        os.kill(pids[guilty], signal.SIGKILL)
        failed = drain(executor, "killed")["killed"][-1].event
        assert isinstance(failed, Failed)
        assert failed.rank == guilty
        assert "signal 9" in failed.reason
        assert not any(map(psutil.pid_exists, pids))
        assert not any(segment.exists() for segment in segments)

    def test_a_rank_that_sleeps_for_ever_fails_its_job_with_where_it_was(
        self, executor: Executor, tmp_path: Path
    ) -> None:
        executor.start(
            job(tmp_path, "awake", workers=2)
        )  # only a warm gang is sure to be set up before the stall counts
        drain(executor, "awake")
        asleep = {"model": "tests.contracts.sleeping:Network", "images": ENDLESS, "points": 10_000}
        executor.start(replace(job(tmp_path, "asleep", workers=2, **asleep), stall_s=4.0))
        events = drain(executor, "asleep")["asleep"]
        failed = events[-1].event
        assert isinstance(failed, Failed)
        assert failed.reason.startswith("reported nothing for limits.stall_seconds, 4; where its ranks were is in ")
        assert "sleeping.py" in failed.traceback
        assert eventually(lambda: not any(map(psutil.pid_exists, ranks_of(events))))


def test_close_ends_running_and_idle_gangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TAG, str(tmp_path))
    executor = LocalExecutor(Capacity((Seats(3),)))
    executor.start(job(tmp_path, "idle"))
    drain(executor, "idle")
    executor.start(job(tmp_path, "busy", workers=2, images=ENDLESS, points=10_000))
    busy = ranks_of(until_first_point(executor))
    segments = mapped_segments(busy)
    executor.close()
    executor.close()
    assert eventually(lambda: not _others())
    assert not any(segment.exists() for segment in segments)
    assert not any(isinstance(e.event, Ended | Failed) for e in executor.events(0.0))


def test_what_cannot_be_started_is_a_failed_event(tmp_path: Path) -> None:
    executor = NothingStarts()
    executor.start(job(tmp_path, "hopeless"))
    (event,) = drain(executor, "hopeless")["hopeless"]
    executor.close()
    assert event.event == Failed("hopeless", "no gang for hopeless; none")


def test_a_missing_mpiexec_is_a_failed_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(tmp_path / "mpiexec"))
    executor = LocalExecutor()
    executor.start(job(tmp_path, "hopeless"))
    (event,) = drain(executor, "hopeless")["hopeless"]
    executor.close()
    assert isinstance(event.event, Failed)
    assert "cannot be run" in event.event.reason
    assert "SWEEPER_MPIEXEC" in event.event.reason
