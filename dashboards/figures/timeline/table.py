"""The table of the timeline: a row for each part of an attempt's time, in lanes of gangs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboards.figures.tables import TrialTable
from dashboards.figures.tables.csv_text import csv_text
from sweeper.answers.timeline import GangTime, Part, Timeline, timeline
from sweeper.errors import FigureError
from sweeper.store import Store

_SHOWN = 2000  # parts of the whole time: what is shorter, or nearer to its like, is not told apart in a picture


@dataclass(frozen=True)
class TimelineTable:
    """The timeline of a sweep."""

    trials: TrialTable
    time: Timeline

    @property
    def lane_names(self) -> list[str]:
        """Each lane by its workers, and its number where several have as many."""
        counts = self.time.lanes
        names = []
        for lane, workers in enumerate(counts):
            number = f", {counts[:lane].count(workers) + 1}" if counts.count(workers) > 1 else ""
            names.append(f"{workers} worker{'s' * (workers > 1)}{number}")
        return names

    @property
    def words(self) -> str:
        """The sum of it, as a subtitle."""
        time, count = self.time, len(self.time.gangs)
        gangs, seats = f"{count} gang{'s' * (count > 1)}", f"{time.seats} seat{'s' * (time.seats > 1)}"
        return f"{gangs} in {time.seconds:.4g} s; training took {time.busy:.0%} of the time of {seats}"


def timeline_table(store: Store, trials: TrialTable) -> TimelineTable:
    """The timeline of all attempts so far.

    Raises:
        FigureError: no attempt had a gang.
        StoreError: the store cannot be read.
    """
    time = timeline(store, trials.sweep)
    if time is None or not time.gangs:
        raise FigureError(
            f"sweep {trials.name!r}: none of its attempts had a gang",
            "wait until a trial trains; an imported sweep has no timeline",
        )
    return TimelineTable(trials, time)


def merged_parts(time: Timeline, gang: GangTime) -> Iterator[Part]:
    """The parts of a gang's time as far as a picture tells them apart; a merged one is called by its first attempt."""
    least = time.seconds / _SHOWN
    open_parts: dict[str, Part] = {}
    for part in gang.parts:
        before = open_parts.get(part.name)
        if before and part.begin - before.end <= least:
            open_parts[part.name] = Part(**{**vars(before), "end": max(before.end, part.end)})
            continue
        if before:
            yield before
        open_parts[part.name] = part
    yield from open_parts.values()


def timeline_csv(table: TimelineTable) -> str:
    """A line for each part: seconds since the first gang's start."""
    lines = (
        [gang.gang, gang.workers, gang.lane, part.trial, part.attempt, part.state, part.name, part.begin, part.end]
        for gang in table.time.gangs
        for part in gang.parts
    )
    return csv_text(["gang", "workers", "lane", "trial", "attempt", "state", "part", "begin", "end"], lines)
