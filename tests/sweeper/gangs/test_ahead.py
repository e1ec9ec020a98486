"""Gangs that come up before their seats are free: real ones, without GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.protocol import Ended, Point, Ready, Started
from sweeper.errors import LaunchError
from sweeper.gangs.ahead import Ahead
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.gang import Gang
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Seats
from tests.contracts.jobs import job, losses

GPUS = ("0",)


@pytest.fixture
def ahead() -> Iterator[Ahead[Gang]]:
    made = Ahead(Gang)
    yield made
    made.end(closing=True)


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
    assert startup(found) < startup(expected), "its start was before the job's"
    assert ahead.take(wanted) is None, "a gang is given once"


def startup(events: list[JobEvent]) -> float:
    """Seconds that the gang took, as the scheduler counts them."""
    started = events[1].event
    assert isinstance(started, Started)
    return events[1].elapsed_s - started.setup_seconds


def test_a_gang_on_other_gpus_is_of_no_use(ahead: Ahead[Gang], tmp_path: Path) -> None:
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
    ahead.end()
    assert [gang.alive() for gang in made] == [False, False]
    ahead.end(closing=True)
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
    assert dying._opening
    dying._opening.join()
    assert dying._gang
    psutil.Process(dying._gang._mpi.process.pid).wait(60)
    assert dying.take(one) is None


def test_gpus_can_be_asked_for_by_name(tmp_path: Path) -> None:
    locks = SeatLocks(range(4), ["a", "b", "c"], folder=tmp_path)
    first = locks.take(Seats(1, 1), first=["c"])
    assert first
    assert first.gpus == ("c",)
    assert (locks.held_gpus(), locks.held_cores()) == (["c"], 1)
    both = locks.take(Seats(1, 2), first=["c", "b"])
    assert both
    assert both.gpus == ("a", "b")
    locks.give_back(first)
    assert locks.held_gpus() == ["a", "b"]
