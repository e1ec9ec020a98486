"""Gangs that come up before their seats are free: real ones, without GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.protocol import Ended, Point, Ready, Started
from sweeper.errors import LaunchError
from sweeper.gangs import local
from sweeper.gangs.ahead import Ahead
from sweeper.gangs.base import Job
from sweeper.gangs.gang import Gang
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Capacity, Seats
from tests.contracts.jobs import ENDLESS, drain, job, losses, until

GPUS = ("0",)


@pytest.fixture
def ahead() -> Iterator[Ahead[Gang]]:
    made = Ahead(Gang)
    yield made
    made.end(closing=True).join()


def on_gpus(job: Job) -> Job:
    """A job that was given GPUs, which its network does not use."""
    return replace(job, gpus=GPUS)


def test_a_gang_that_came_up_ahead_trains_as_a_new_one_does(ahead: Ahead[Gang], tmp_path: Path) -> None:
    wanted = on_gpus(job(tmp_path, "wanted", workers=2, device="cpu"))
    ahead.begin(on_gpus(job(tmp_path, "like it", workers=2, device="cpu")))
    assert ahead.gpus_for(wanted) == GPUS
    gang = ahead.take(wanted)
    assert gang is not None
    found = list(gang.run(wanted))
    again = list(gang.run(replace(wanted, attempt=2)))
    gang.close()
    cold = Gang(wanted)
    expected = list(cold.run(wanted))
    cold.close()
    assert losses(found) == losses(again) == losses(expected)
    assert [type(e.event) for e in found] == [Ready, Started, *[Point] * (len(found) - 3), Ended]
    assert ahead.take(wanted) is None, "a gang is given once"


def test_a_gang_on_other_gpus_is_of_no_use(tmp_path: Path) -> None:
    made: list[Gang] = []

    def opened(job: Job) -> Gang:
        made.append(Gang(job))
        return made[-1]

    ahead = Ahead(opened)
    ahead.begin(on_gpus(job(tmp_path, "first")))
    ahead.begin(on_gpus(job(tmp_path, "second", workers=2)))
    assert ahead.gpus_for(job(tmp_path, "second", workers=2)) == ()
    assert ahead.take(job(tmp_path, "two", workers=2)) is None, "another shape"
    assert ahead.take(replace(job(tmp_path, "one"), gpus=("1",))) is None
    (gang,) = made
    assert not gang.alive()
    ahead.begin(on_gpus(job(tmp_path, "third")))
    ahead.end().join()
    assert [gang.alive() for gang in made] == [False, False]
    ahead.end(closing=True).join()
    ahead.begin(on_gpus(job(tmp_path, "late")))
    assert len(made) == 2


def test_one_that_cannot_start_or_dies_is_forgotten(tmp_path: Path) -> None:
    def refuse(job: Job) -> Gang:
        raise LaunchError(f"no memory is free for {job.trial_id}", "wait")

    refusing = Ahead(refuse)
    refusing.begin(on_gpus(job(tmp_path, "refused")))
    assert refusing.take(on_gpus(job(tmp_path, "refused"))) is None
    dying = Ahead(Gang)
    one = on_gpus(job(tmp_path, "dying"))
    dying.begin(replace(one, config={**one.config, "data": "tests.no_such_module:data"}))
    assert dying._coming
    gang = dying._coming.arrived()
    assert gang
    psutil.Process(gang._mpi.process.pid).wait(60)
    assert dying.take(one) is None


def test_gpus_can_be_asked_for_by_name(tmp_path: Path) -> None:
    locks = SeatLocks(range(4), ["a", "b", "c"], folder=tmp_path)
    first = locks.take(Seats(1, 1), first=["c"])
    assert first
    assert first.gpus == ("c",)
    assert locks.held_gpus() == ["c"]
    both = locks.take(Seats(1, 2), first=["c", "b"])
    assert both
    assert both.gpus == ("a", "b")
    locks.give_back(first)
    assert locks.held_gpus() == ["a", "b"]


def test_the_local_executor_hands_gpus_over_to_the_gang_that_came_up_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On GPUs that are there by name only: the ranks compute on cores."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("SWEEPER_SEATS", str(tmp_path / "seats"))
    monkeypatch.setattr(local, "usable_cpus", lambda: 8)
    monkeypatch.setattr(local, "free_memory", lambda _: 1.0)
    executor = local.LocalExecutor(Capacity((Seats(8, 2),)))
    try:
        running = [gpu_job(tmp_path, name, 1, images=ENDLESS, points=100_000) for name in ("one", "other")]
        for one in running:
            executor.start(one)
        until(executor, Point, 2)
        wanted = gpu_job(tmp_path, "wanted", 2)
        executor.prepare(running[0])
        assert executor.preferred_gpus(running[0]) == (), "a gang of this shape is there"
        executor.prepare(wanted)
        assert executor.preferred_gpus(wanted) == ("0", "1")
        assert executor._ahead._coming
        gang = executor._ahead._coming.arrived()
        assert gang
        for one in running:
            executor.stop(one.trial_id)
        drain(executor, "one", "other")
        executor.start(wanted)
        events = drain(executor, "wanted")["wanted"]
        assert isinstance(events[-1].event, Ended)
        assert {event.gang_id for event in events} == {gang.id}
    finally:
        executor.close()


def gpu_job(tmp_path: Path, name: str, workers: int, **config: object) -> Job:
    return replace(job(tmp_path, name, workers=workers, device="cpu", **config), gpus_per_worker=1)


def test_without_spare_cores_or_memory_nothing_comes_up_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("SWEEPER_SEATS", str(tmp_path / "seats"))
    executor = local.LocalExecutor(Capacity((Seats(8, 1),)))
    try:
        executor.prepare(gpu_job(tmp_path, "nothing is held", 1))
        taken = executor._seat_locks.take(Seats(1, 1))
        assert taken
        monkeypatch.setattr(local, "usable_cpus", lambda: 0)
        executor.prepare(gpu_job(tmp_path, "no core is free", 1))
        executor.prepare(job(tmp_path, "without GPUs", workers=1))
        executor.prepare(replace(gpu_job(tmp_path, "shared", 1), granted=(1, 1)))
        assert executor.preferred_gpus(gpu_job(tmp_path, "shared", 1)) == ()
        monkeypatch.setattr(local, "usable_cpus", lambda: 8)
        monkeypatch.setattr(local, "free_memory", lambda _: 0.4)
        executor.prepare(gpu_job(tmp_path, "full", 1))
        assert executor._ahead._coming
        assert executor._ahead._coming.arrived() is None
        executor._seat_locks.give_back(taken)
    finally:
        executor.close()


def test_a_job_does_not_fail_for_what_its_gang_had_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another job's data are damaged; the gang that came up for that one dies while it prepares."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("SWEEPER_SEATS", str(tmp_path / "seats"))
    monkeypatch.setattr(local, "free_memory", lambda _: 1.0)
    executor = local.LocalExecutor(Capacity((Seats(8, 1),)))
    try:
        wanted = gpu_job(tmp_path, "wanted", 1)
        broken = replace(wanted, config={**wanted.config, "data": "tests.engine.drawn_data:missing"}, gpus=GPUS)
        executor._ahead.begin(broken)
        coming = executor._ahead._coming
        assert coming
        assert coming.arrived()
        monkeypatch.setattr(Gang, "alive", lambda _: True)  # it dies a moment after it was asked
        executor.start(wanted)
        events = drain(executor, "wanted")["wanted"]
        assert isinstance(events[-1].event, Ended)
    finally:
        executor.close()
