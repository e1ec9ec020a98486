"""Seconds by phase: without gaps, on the host's clock and on a device that is behind its host."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

from engine.phases import HostTimeline, Phases, StreamTimeline


def clock(*readings: float) -> Callable[[], float]:
    """What a clock says, one reading after another."""
    return iter(readings).__next__


class Device:
    """A timeline whose marks are reached later than they are made, and in numbers of which no more than so many exist.

    A mark is the number of what was queued before it; work number n takes n seconds.
    """

    most = 4

    def __init__(self) -> None:
        self.queued = self.done = 0
        self.in_use: set[int] = set()
        self.waits: list[int] = []
        self._numbers = itertools.count()
        self._at: dict[int, float] = {}

    def work(self) -> None:
        self.queued += 1

    def mark(self) -> int:
        number = next(self._numbers)
        self.in_use.add(number)
        self._at[number] = sum(range(self.queued + 1))
        return number

    def wait(self, mark: int) -> None:
        assert mark in self.in_use
        self.waits.append(mark)
        self.done = mark

    def seconds(self, first: int, second: int) -> float:
        assert max(first, second) <= self.done, "read before it was reached"
        return self._at[second] - self._at[first]

    def release(self, mark: int) -> None:
        self.in_use.remove(mark)


def test_each_second_lies_in_one_phase() -> None:
    found = Phases(HostTimeline(clock(1.0, 1.5, 4.0, 4.25, 10.0)))
    found.start("compute")
    for name in ("gather", "compute", "compute", "report"):
        found.enter(name)
    found.stop()
    assert found.totals == {"compute": 0.5 + 0.25, "gather": 2.5, "report": 5.75}
    assert sum(found.totals.values()) == 10.0 - 1.0


def test_what_comes_before_the_clock_does_not_count() -> None:
    found = Phases(HostTimeline(clock(5.0, 7.0)), now=clock(0.0, 1.0))
    found.enter("compute")
    with found.within("average"):
        found.enter("gather")
    assert found.totals == {}
    found.start("compute")
    found.stop()
    found.enter("gather")
    assert found.totals == {"compute": 2.0}


def test_a_pause_is_counted_apart() -> None:
    found = Phases(HostTimeline(clock(0.0, 1.0, 21.0, 22.5)), now=clock(1.0, 20.0))
    found.start("compute")
    with found.paused("evaluation"):
        found.enter("gather")
    found.stop()
    assert found.totals == {"compute": 1.0, "evaluation": 19.0, "report": 1.5}


def test_a_pause_that_fails_counts() -> None:
    found = Phases(HostTimeline(clock(0.0, 1.0, 5.0)), now=clock(1.0, 5.0))
    found.start("compute")
    with pytest.raises(KeyError), found.paused("checkpoint"):
        raise KeyError
    assert found.totals["checkpoint"] == 4.0


def test_work_within_a_phase_is_taken_out_of_it() -> None:
    found = Phases(HostTimeline(clock(0.0, 1.0, 9.0)), now=clock(2.0, 3.0, 5.0, 5.5))
    found.start("compute")
    found.enter("gather")
    for _ in range(2):
        with found.within("average"):
            pass
    found.stop()
    assert found.totals == {"compute": 1.0, "gather": 6.5, "average": 1.5}


def test_merged_phases_are_one() -> None:
    found = Phases(HostTimeline(clock(0.0, 4.0, 5.0)))
    found.merge(["compute", "update"], "step")
    found.start("compute")
    for name in ("update", "compute", "report"):
        found.enter(name)
    found.stop()
    assert found.totals == {"step": 4.0, "report": 1.0}


def test_what_is_recorded_for_later_is_not_timed() -> None:
    found, entered = Phases(HostTimeline(clock(0.0, 1.0))), list[str]()
    found.merge(["update"], "step")
    found.start("compute")
    with found.diverted(entered.append):
        found.enter("all-reduce")
        found.enter("update")
    found.stop()
    assert entered == ["all-reduce", "step"]
    assert found.totals == {"compute": 1.0}


def test_a_device_has_the_time_of_its_work_and_not_of_its_queueing() -> None:
    device = Device()
    found = Phases(device)
    found.start("compute")
    device.work()
    found.enter("update")
    device.work()
    found.enter("report")
    assert (found.totals, device.waits) == ({}, []), "nothing is read, or waited for, while steps are queued"
    device.work()
    found.stop()
    assert found.totals == {"compute": 1.0, "update": 2.0, "report": 3.0}
    assert not device.in_use, "all events are free again"


def test_no_more_marks_are_kept_than_a_timeline_allows() -> None:
    device = Device()
    found = Phases(device)
    found.start("compute")
    for number in range(100):
        device.work()
        found.enter(("update", "compute")[number % 2])
        assert len(device.in_use) <= device.most
    found.stop()
    assert sum(found.totals.values()) == sum(range(101))
    assert not device.in_use


def test_a_phase_that_is_entered_again_makes_no_mark() -> None:
    device = Device()
    found = Phases(device)
    found.start("step")
    for _ in range(100):
        found.enter("step")
    assert len(device.in_use) == 1


def test_events_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Event] = []

    class Event:
        """Records nothing but that it is there: CUDA's own are for a GPU."""

        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing
            made.append(self)

        def record(self) -> None:
            pass

        def synchronize(self) -> None:
            pass

        def elapsed_time(self, _: Event) -> float:
            return 250.0  # ms

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(StreamTimeline, "most", 4)
    found = Phases(StreamTimeline())
    found.start("compute")
    for name in itertools.islice(itertools.cycle(["update", "compute"]), 50):
        found.enter(name)
    found.stop()
    assert found.totals == {"compute": 26 * 0.25, "update": 25 * 0.25}
    assert len(made) <= 5


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the clock of the machine."""

    def read() -> float:
        raise AssertionError("the machine's clock was read")

    monkeypatch.setattr("time.perf_counter", read)
