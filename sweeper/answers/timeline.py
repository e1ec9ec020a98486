"""When each gang of a sweep came up, set up, trained, or waited."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sweeper.store import AttemptSpan, Store

START, SET_UP, TRAINING, OFF_THE_CLOCK = "start", "set-up", "training", "evaluation and checkpoints"
_CHANGE_S = 0.1  # in which seats may seem to be with two gangs
_PAUSE_S = 20.0  # without a gang, from which on nobody runs the sweep
PARTS = (START, SET_UP, TRAINING, OFF_THE_CLOCK)


@dataclass(frozen=True)
class Part:
    """What an attempt's time from `begin` to `end` went into, in seconds since the sweep's first gang was started."""

    trial: str
    attempt: int
    state: str
    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class GangTime:
    """The parts of one gang's time, in their order; between them it waited. `lane` is free of other gangs meanwhile."""

    gang: str
    workers: int
    lane: int
    parts: tuple[Part, ...]

    @property
    def begin(self) -> float:
        """When its first attempt got its seats."""
        return self.parts[0].begin

    @property
    def end(self) -> float:
        """When its last attempt was over."""
        return max(part.end for part in self.parts)


@dataclass(frozen=True)
class Timeline:
    """All gangs, first to last. `seconds` is the time from the first gang's start to the last attempt's end.

    `busy` is the share of the time in which the sweep ran that its seats trained, of as many as it ever used at once.
    """

    gangs: tuple[GangTime, ...]
    seconds: float
    seats: int
    busy: float

    @property
    def lanes(self) -> tuple[int, ...]:
        """The workers of each lane."""
        counts = {gang.lane: gang.workers for gang in self.gangs}
        return tuple(counts[lane] for lane in sorted(counts))

    def spent(self, name: str) -> float:
        """Seconds of all gangs in a part, each counted once, however many its workers are."""
        return sum(part.end - part.begin for gang in self.gangs for part in gang.parts if part.name == name)


def timeline(store: Store, sweep_id: str, now: datetime | None = None) -> Timeline | None:
    """When the gangs of a sweep did what; attempts that still run do so until `now`. None before any gang was up.

    Attempts without a gang, whose curves are of other trials or were imported, are left out.
    """
    spans = store.attempts.spans(sweep_id)
    if not spans:
        return None
    now, zero = now or datetime.now(UTC), min(span.started_at for span in spans)
    by_gang: dict[str, list[AttemptSpan]] = {}
    for span in spans:
        by_gang.setdefault(span.gang_id, []).append(span)
    found = [
        (gang, of[0].workers, tuple(part for span in of for part in _parts(span, zero, now)))
        for gang, of in by_gang.items()
    ]
    gangs = _in_lanes([(gang, workers, parts) for gang, workers, parts in found if parts])
    seconds = max((gang.end for gang in gangs), default=0.0)
    seats = _most_at_once(gangs)
    trained = sum(gang.workers * (p.end - p.begin) for gang in gangs for p in gang.parts if p.name == TRAINING)
    whole = seats * _up(gangs)
    return Timeline(tuple(gangs), seconds, seats, trained / whole if whole else 0.0)


def _parts(span: AttemptSpan, zero: datetime, now: datetime) -> Iterable[Part]:
    """The parts of an attempt that took any time."""
    at = (span.started_at - zero).total_seconds()
    until = max(at, ((span.ended_at or now) - zero).total_seconds())
    for name, took in ((START, span.startup), (SET_UP, span.setup), (TRAINING, span.trained)):
        # Of an attempt that was cut off, or that runs, the last part that began lasts to the end.
        end = until if took is None else at + took
        if end > at:
            yield Part(span.trial_id, span.number, span.state, name, at, end)
        at = end
    if span.off_clock:
        yield Part(span.trial_id, span.number, span.state, OFF_THE_CLOCK, at, at + span.off_clock)


def _in_lanes(gangs: Sequence[tuple[str, int, tuple[Part, ...]]]) -> list[GangTime]:
    """Each gang in the first lane of its worker count that is free; lanes of fewer workers first."""
    ends: dict[tuple[int, int], float] = {}  # by workers and number
    placed: list[tuple[GangTime, tuple[int, int]]] = []
    for gang, workers, parts in sorted(gangs, key=lambda one: one[2][0].begin):
        number = 0
        while ends.get((workers, number), 0.0) > parts[0].begin:
            number += 1
        made = GangTime(gang, workers, 0, parts)
        ends[workers, number] = made.end
        placed.append((made, (workers, number)))
    lanes = {key: lane for lane, key in enumerate(sorted(ends))}
    return [GangTime(gang.gang, gang.workers, lanes[key], gang.parts) for gang, key in placed]


def _most_at_once(gangs: Sequence[GangTime]) -> int:
    """The most workers that were up at once; while seats change hands, two gangs may seem to have them."""
    changes: list[tuple[float, int]] = []
    for gang in gangs:
        changes += [(gang.begin, gang.workers), (max(gang.begin, gang.end - _CHANGE_S), -gang.workers)]
    at_once = itertools.accumulate(change for _, change in sorted(changes))
    return max([*at_once, *(gang.workers for gang in gangs)], default=0)


def _up(gangs: Sequence[GangTime]) -> float:
    """Seconds in which any gang was up, or changed: a sweep that was interrupted is not at work until it is resumed."""
    seconds = until = 0.0
    for gang in sorted(gangs, key=lambda one: one.begin):
        pause = gang.begin - until
        seconds += max(0.0, gang.end - max(gang.begin, until)) + (pause if 0 < pause <= _PAUSE_S else 0.0)
        until = max(until, gang.end)
    return seconds
