"""What time went where: each second of a trial's training lies in exactly one phase.

On the CPU time is read from the host's clock. On a GPU it is read from CUDA events in the stream, so that a phase has
the time that its work took there, whenever the host queued it. Events are read when the clock stands, or when many have
gathered: a GPU that waits for its host at a loss point does not wait for that, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

COMPUTE, STEP, REPORT, WAIT = "compute", "step", "report", "wait"
Now = Callable[[], float]
_MOST_EVENTS = 4096  # that may wait to be read: a GPU is never so many behind its host


class Timeline(Protocol):
    """Where marks are made. Marks follow each other, and the time between two is known once both are reached."""

    most: int  # marks that may be kept before they are read

    def mark(self) -> Any:
        """A mark here and now."""

    def wait(self, mark: Any) -> None:
        """Wait until a mark is reached; those made before it are, too."""

    def seconds(self, first: Any, second: Any) -> float:
        """Time between two marks that are reached."""

    def release(self, mark: Any) -> None:
        """Take back a mark that is no longer needed."""


class HostTimeline:
    """The host's clock, `now` in seconds: a mark is a reading."""

    most = 1

    def __init__(self, now: Now = time.perf_counter) -> None:
        self.mark = now

    def wait(self, mark: float) -> None:
        """See `Timeline.wait`; a reading is in the past."""

    def seconds(self, first: float, second: float) -> float:
        """See `Timeline.seconds`."""
        return second - first

    def release(self, mark: float) -> None:
        """See `Timeline.release`; nothing is kept of a reading."""


class StreamTimeline:
    """The current CUDA stream: a mark is an event, reached when the work queued before it is done."""

    most = _MOST_EVENTS

    def __init__(self) -> None:
        self._free: list[torch.cuda.Event] = []

    def mark(self) -> torch.cuda.Event:
        """See `Timeline.mark`."""
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def wait(self, mark: torch.cuda.Event) -> None:
        """See `Timeline.wait`."""
        mark.synchronize()

    def seconds(self, first: torch.cuda.Event, second: torch.cuda.Event) -> float:
        """See `Timeline.seconds`."""
        return float(first.elapsed_time(second)) / 1000

    def release(self, mark: torch.cuda.Event) -> None:
        """See `Timeline.release`."""
        self._free.append(mark)


def timeline_of(device: torch.device, now: Now = time.perf_counter) -> Timeline:
    """The one on which a device's work lies."""
    return StreamTimeline() if device.type == "cuda" else HostTimeline(now)


class Phases:
    """Seconds by phase, in `totals`, of this rank; the phases of a running trial follow each other without a gap.

    `detailed` asks exchanges to tell apart what costs time to tell apart: to wait for the slowest rank before they
    begin, and to cut a captured step into its parts. `now` times what is off the clock, and work of the host's own.
    """

    def __init__(
        self, timeline: Timeline | None = None, *, detailed: bool = False, now: Now = time.perf_counter
    ) -> None:
        self.totals: dict[str, float] = {}
        self.detailed = detailed
        self._timeline, self._now = timeline or HostTimeline(now), now
        self._name: str | None = None
        self._marks: list[tuple[str, Any]] = []  # each with the phase that begins there
        self._merged: dict[str, str] = {}
        self._cut: Callable[[str], None] | None = None

    def clear(self) -> None:
        """Start counting from zero."""
        self.totals = {}

    def merge(self, names: Iterable[str], into: str) -> None:
        """Count these phases as one from now on."""
        self._merged |= dict.fromkeys(names, into)

    def start(self, name: str) -> None:
        """The clock runs, in phase `name`. What was in `totals` stays."""
        self._name = self._merged.get(name, name)
        self._marks.append((self._name, self._timeline.mark()))

    def enter(self, name: str) -> None:
        """The phase before ends and `name` begins; nothing where the clock does not run."""
        name = self._merged.get(name, name)
        if self._cut:
            self._cut(name)
        elif self._name is not None and name != self._name:
            self._name = name
            self._marks.append((name, self._timeline.mark()))
            if len(self._marks) > self._timeline.most:
                self._read(max(1, len(self._marks) // 2))

    def stop(self) -> None:
        """The clock stands. On a GPU this waits for what is queued."""
        if self._name is not None:
            self._marks.append((self._name, self._timeline.mark()))
            self._read(len(self._marks) - 1)
            self._timeline.release(self._marks.pop()[1])
            self._name = None

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Count the block as `name`, outside the training; the report goes on behind it."""
        self.stop()
        begun = self._now()
        try:
            yield
        finally:
            self._add(name, self._now() - begun)
            self.start(REPORT)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Count the block as `name`, and not as the phase around it; the device has nothing to do at its ends."""
        around, begun = self._name, self._now()
        try:
            yield
        finally:
            if around is not None:
                took = self._now() - begun
                self._add(name, took)
                self._add(around, -took)

    @contextmanager
    def diverted(self, cut: Callable[[str], None]) -> Iterator[None]:
        """Have `cut` called with the phases that the block enters: it is recorded, to be run later."""
        self._cut = cut
        try:
            yield
        finally:
            self._cut = None

    def _read(self, count: int) -> None:
        """Add up the times up to the mark of that number."""
        if count < 1:
            return
        timeline, marks = self._timeline, self._marks
        timeline.wait(marks[count][1])
        for place in range(count):
            name, begun = marks[place]
            self._add(name, timeline.seconds(begun, marks[place + 1][1]))
            timeline.release(begun)
        del marks[:count]

    def _add(self, name: str, seconds: float) -> None:
        self.totals[name] = self.totals.get(name, 0.0) + seconds
