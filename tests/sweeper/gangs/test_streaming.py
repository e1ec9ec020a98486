"""Gangs that stay, leave and make room, over one host and over several."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.protocol import Ended, Failed, Ready, encode
from sweeper.errors import LostHostError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Capacity, Seats
from sweeper.gangs.streaming import GangHandle, StreamingExecutor, events_told
from tests.processes import eventually


@dataclass
class Hosts:
    """Hosts with seats; a gang waits until one host has enough of them, as a placement group does."""

    free: list[Seats]
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, need: Seats) -> int:
        with self.changed:
            assert self.changed.wait_for(lambda: any(need.fits(host) for host in self.free), timeout=20)
            number = next(n for n, host in enumerate(self.free) if need.fits(host))
            self.free[number] -= need
            return number

    def give(self, number: int, need: Seats) -> None:
        with self.changed:
            self.free[number] += need
            self.changed.notify_all()


class SeatedGang:
    """Completes each job when told to."""

    def __init__(self, job: Job, hosts: Hosts, going: threading.Event, leave: threading.Event) -> None:
        self._need, self._hosts, self._going, self._leave = job.need, hosts, going, leave
        self._host = hosts.take(job.need)
        self._open = True

    def run(self, job: Job) -> Iterator[JobEvent]:
        assert self._going.wait(20)
        yield JobEvent(job.trial_id, job.attempt, Ready(1, [1], ["host"], {}), str(id(self)))
        yield JobEvent(job.trial_id, job.attempt, Ended(job.trial_id, "completed", 1, 1, 1.0), str(id(self)))

    def alive(self) -> bool:
        return self._open

    def stop(self, trial_id: str) -> None: ...

    def close(self) -> None:
        assert self._leave.wait(20)
        if self._open:
            self._open = False
            self._hosts.give(self._host, self._need)


class SeatedExecutor(StreamingExecutor):
    """Seats gangs on made-up hosts; `going[trial]` lets a job end."""

    def __init__(self, *hosts: int, pool: SeatLocks | None = None, share: bool = False) -> None:
        super().__init__(pool, share=share)
        self._capacity = Capacity(tuple(map(Seats, hosts)))
        self.hosts = Hosts([Seats(cpus) for cpus in hosts])
        self.going: dict[str, threading.Event] = {}
        self.leave = threading.Event()  # lets gangs end
        self.leave.set()

    def capacity(self) -> Capacity:
        return self._capacity

    def open_gang(self, job: Job) -> GangHandle:
        return SeatedGang(job, self.hosts, self.going[job.trial_id], self.leave)

    def begin(self, trial: str, workers: int) -> None:
        self.going.setdefault(trial, threading.Event())
        self.start(Job(trial, 1, workers, 1, 0, {}, ""))

    def finish(self, *trials: str) -> dict[str, str]:
        """Let jobs end; the gang that served each."""
        for trial in trials:
            self.going[trial].set()
        served: dict[str, str] = {}

        def all_ended() -> bool:
            served.update({e.trial_id: e.gang_id for e in self.events(0.05) if isinstance(e.event, Ended)})
            return set(trials) <= served.keys()

        assert eventually(all_ended), served
        return served


@pytest.fixture
def scattered() -> Iterator[SeatedExecutor]:
    executor = SeatedExecutor(2, 2)
    yield executor
    for going in executor.going.values():
        going.set()
    executor.close()


def test_idle_gangs_do_not_keep_the_seats_that_a_new_one_waits_for(scattered: SeatedExecutor) -> None:
    for name in "abcd":
        scattered.begin(name, 1)
    assert eventually(lambda: scattered.hosts.free == [Seats(0), Seats(0)])
    scattered.finish("a", "c")  # one on each host, or both on one: in both cases the next needs a whole host
    scattered.begin("wide", 2)
    scattered.finish("b", "d")
    assert "wide" in scattered.finish("wide")


def test_a_gang_stays_for_its_shape_and_leaves_for_another() -> None:
    executor = SeatedExecutor(2)
    executor.begin("first", 2)
    first = executor.finish("first")["first"]
    executor.going["second"] = executor.going["first"]  # the same gang waits for the same word
    executor.begin("second", 2)
    assert executor.finish("second")["second"] == first
    executor.begin("other", 1)
    executor.finish("other")
    assert executor.hosts.free == [Seats(1)]
    executor.close()
    assert executor.hosts.free == [Seats(2)]


def side_by_side(folder: Path, cores: int, share: bool = False) -> list[SeatedExecutor]:
    """Two sweeps on one machine."""
    return [SeatedExecutor(cores, pool=SeatLocks(range(cores), None, None, folder), share=share) for _ in range(2)]


def until_an_end(executor: SeatedExecutor, ends: int = 1) -> list[JobEvent]:
    """All events up to the first end, or to so many."""
    seen: list[JobEvent] = []

    def ended() -> bool:
        seen.extend(executor.events(0.05))
        return sum(isinstance(happened.event, Ended) for happened in seen) >= ends

    assert eventually(ended)
    return seen


def test_a_sweep_waits_for_cores_that_another_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = side_by_side(tmp_path, 2)
    theirs.begin("theirs", 2)
    assert eventually(lambda: theirs.hosts.free == [Seats(0)])
    ours.begin("ours", 1)
    assert eventually(lambda: "waiting for 1 cores, which other sweeps of this machine have" in caplog.text)
    assert ours.hosts.free == [Seats(2)]
    theirs.finish("theirs")
    theirs.close()
    ours.finish("ours")
    ours.close()


def test_who_waits_for_cores_ends_when_it_is_closed(tmp_path: Path) -> None:
    ours, theirs = side_by_side(tmp_path, 1)
    theirs.begin("theirs", 1)
    assert eventually(lambda: theirs.hosts.free == [Seats(0)])
    ours.begin("ours", 1)
    ours.close()
    assert ours.hosts.free == [Seats(1)]
    assert list(ours.events(0.0)) == []
    theirs.finish("theirs")
    theirs.close()


def test_two_sweeps_do_not_wait_for_each_others_idle_gangs(tmp_path: Path) -> None:
    both = side_by_side(tmp_path, 4)
    for executor in both:
        executor.begin("wide", 2)
        executor.finish("wide")
    for executor in both:
        executor.begin("narrow", 1)
    for executor in both:
        executor.finish("narrow")
        executor.close()
        assert executor.hosts.free == [Seats(4)]


def test_who_may_share_says_so_of_its_trials(tmp_path: Path) -> None:
    ours, theirs = side_by_side(tmp_path, 1, share=True)
    theirs.begin("theirs", 1)
    assert eventually(lambda: theirs.hosts.free == [Seats(0)])
    ours.begin("ours", 1)
    ours.going["ours"].set()
    seen = until_an_end(ours)
    assert [e.shared for e in seen if isinstance(e.event, Ready)] == [True]
    ours.close()
    theirs.finish("theirs")
    theirs.close()


def test_a_job_that_waits_for_seats_can_be_stopped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = side_by_side(tmp_path, 1)
    theirs.begin("theirs", 1)
    assert eventually(lambda: theirs.hosts.free == [Seats(0)])
    ours.begin("ours", 1)
    assert eventually(lambda: "waiting for 1 cores" in caplog.text)
    ours.stop("ours")
    (stopped,) = [happened.event for happened in until_an_end(ours)]
    assert stopped == Ended("ours", "stopped", 0, 0, 0.0)
    ours.begin("again", 1)
    theirs.finish("theirs")
    theirs.close()
    ours.finish("again")
    ours.close()


def test_idle_gangs_that_are_dismissed_leave_their_seats_to_others(tmp_path: Path) -> None:
    ours, theirs = side_by_side(tmp_path, 1)
    theirs.begin("theirs", 1)
    theirs.finish("theirs")
    ours.begin("ours", 1)
    theirs.dismiss_idle()
    ours.finish("ours")
    ours.close()
    theirs.close()
    assert [executor.hosts.free for executor in (ours, theirs)] == [[Seats(1)], [Seats(1)]]


def test_a_gang_that_shares_serves_one_job_only(tmp_path: Path) -> None:
    ours, theirs = side_by_side(tmp_path, 1, share=True)
    theirs.begin("theirs", 1)
    assert eventually(lambda: theirs.hosts.free == [Seats(0)])
    ours.begin("ours", 1)
    ours.finish("ours")
    assert eventually(lambda: ours.hosts.free == [Seats(1)])
    theirs.going["theirs"].set()
    seen = until_an_end(theirs)
    assert [e.shared for e in seen if isinstance(e.event, Ready)] == [False]
    assert [e.shared for e in seen if isinstance(e.event, Ended)] == [True]  # it had a guest
    ours.close()
    theirs.close()


def test_who_may_share_waits_for_the_seats_of_a_gang_that_is_leaving(tmp_path: Path) -> None:
    (executor, _) = side_by_side(tmp_path, 2, share=True)
    executor.begin("wide", 2)
    executor.finish("wide")
    executor.leave.clear()
    for name in ("a", "b"):
        executor.begin(name, 1)
        executor.going[name].set()
    threading.Timer(0.5, executor.leave.set).start()  # the idle gang takes a while to end
    seen = until_an_end(executor, ends=2)
    assert [e.shared for e in seen if isinstance(e.event, Ready)] == [False, False]
    executor.close()


def test_a_job_holds_its_seats_from_when_it_has_them(tmp_path: Path) -> None:
    """Not while it waits for those that another sweep of the machine has; a gang that stays has them at once."""
    others = SeatLocks([0, 1], folder=tmp_path)
    taken = others.take(Seats(2))
    assert taken
    executor = SeatedExecutor(2, pool=SeatLocks([0, 1], folder=tmp_path))
    begun = datetime.now(UTC)
    executor.begin("first", 2)
    assert executor.held_since("first") is None
    others.give_back(taken)
    given_back = datetime.now(UTC)
    executor.finish("first")
    first = executor.held_since("first")
    assert first
    assert first >= begun
    executor.going["second"] = executor.going["first"]
    executor.begin("second", 2)
    executor.finish("second")
    second = executor.held_since("second")
    assert second
    assert second >= first
    assert second >= given_back
    executor.begin("first", 2)  # another attempt, which has not the seats of the one before
    executor.finish("first")
    again = executor.held_since("first")
    assert again
    assert again >= second
    executor.close()


class LosingExecutor(SeatedExecutor):
    """Its gangs write to a log and are lost with their hosts."""

    def __init__(self, log: Path) -> None:
        super().__init__(1)
        self._log = log

    def open_gang(self, job: Job) -> GangHandle:
        gang = SeatedGang(job, self.hosts, self.going[job.trial_id], self.leave)

        def run(job: Job) -> Iterator[JobEvent]:
            def lines() -> Iterator[tuple[str, str, float, str]]:
                yield "gang", str(self._log), 1.0, encode(Ready(1, [1], ["host"], {}))
                self._log.write_text("last words\n")
                raise LostHostError("host 10.0.0.7 is gone", "10.0.0.7")

            return events_told(job, lines())

        gang.run = run  # type: ignore[method-assign]
        return gang


def test_what_a_lost_gang_printed_is_its_trials(tmp_path: Path) -> None:
    executor = LosingExecutor(tmp_path / "log")
    executor.begin("lost", 1)
    heard: list[JobEvent] = []

    def has_failed() -> bool:
        heard.extend(executor.events(0.05))
        return any(isinstance(one.event, Failed) for one in heard)

    assert eventually(has_failed)
    assert [one.log_at for one in heard] == [0, len("last words\n")]
    executor.close()
