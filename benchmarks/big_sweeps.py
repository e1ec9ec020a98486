"""The scheduler under big sweeps: `python -m benchmarks.big_sweeps`.

Simulated gangs say at once what real ones would say over time, so that the rate is the scheduler's own, its SQLite
store included. It must not fall as the number of trials grows.
"""

from __future__ import annotations

import heapq
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise

from benchmarks.measure import Row, arguments, report, spread, versions
from engine.protocol import Ended, Event, Point, Ready, Started
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.seats import Capacity, Seats
from sweeper.live_view import silent
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import open_store

_POINTS = 100


class SimulatedGangs:
    """An executor on so many hosts whose jobs have each an event at each call; counts them."""

    def __init__(self, hosts: int, cores: int) -> None:
        self._capacity = Capacity((Seats(cores),) * hosts)
        self._playing: dict[str, tuple[Job, Iterator[Event]]] = {}
        self.events_told = 0
        self.started_at: list[float] = []

    def capacity(self) -> Capacity:
        """All hosts."""
        return self._capacity

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:
        """They are alike."""

    def start(self, job: Job) -> None:
        """Begin to tell of a job."""
        self.started_at.append(time.perf_counter())
        self._playing[job.trial_id] = job, _story(job)

    def prepare(self, job: Job) -> None:
        """Gangs come up at once."""

    def events(self, timeout_s: float) -> Sequence[JobEvent]:  # noqa: ARG002 - it never waits
        """The next event of each job."""
        told = [JobEvent(job.trial_id, job.attempt, next(story)) for job, story in self._playing.values()]
        self._playing = {e.trial_id: self._playing[e.trial_id] for e in told if not isinstance(e.event, Ended)}
        self.events_told += len(told)
        return told

    def stop(self, trial_id: str) -> None:
        """Nobody asks for it."""

    def remove_checkpoints(self, folder: str) -> None:
        """See `Executor`: there are none."""

    def held_since(self, trial_id: str) -> datetime | None:  # noqa: ARG002 - of any trial
        """Since it was started."""
        return None

    def dismiss_idle(self) -> None:
        """None is kept."""

    def end_orphans(self, sweep_id: str) -> None:
        """There are none."""

    def close(self) -> None:
        """Forget all."""
        self._playing = {}


class VirtualHosts(SimulatedGangs):
    """Such hosts in virtual time: a gang sits on one host, or on empty ones if it is larger, or waits for them.

    `idle` counts seconds of empty hosts in all, `wasted` those during which a trial waited that such a host could seat.
    """

    def __init__(self, hosts: int, cores: int, shapes: Sequence[int]) -> None:
        super().__init__(hosts, cores)
        self.now = self.idle = self.wasted = 0.0
        self._cores, self._free = cores, [cores] * hosts
        self._to_come = Counter(shapes)  # workers of trials without seats, whether they were started or not
        self._chance = random.Random(0)
        self._waiting: list[Job] = []
        self._due: list[tuple[float, int, Job, list[int]]] = []
        self._held: dict[str, datetime] = {}

    def start(self, job: Job) -> None:
        """Begin to wait for seats."""
        self._waiting.append(job)

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        """Seat what fits, and go on to the next end, by no more than `timeout_s`."""
        self._waiting = [job for job in self._waiting if not self._seat(job)]
        until = min([self.now + timeout_s, *(due[0] for due in self._due[:1])])
        empty = self._free.count(self._cores) * (until - self.now)
        self.idle += empty
        self.wasted += empty if any(count and workers <= self._cores for workers, count in self._to_come.items()) else 0
        self.now = until
        told = []
        while self._due and self._due[0][0] <= self.now:
            _, _, job, hosts = heapq.heappop(self._due)
            for host in hosts:
                self._free[host] += min(job.workers, self._cores)
            told += [JobEvent(job.trial_id, job.attempt, event) for event in _story(job)]
        return told

    def held_since(self, trial_id: str) -> datetime | None:
        """When it got its seats."""
        return self._held.get(trial_id)

    def _seat(self, job: Job) -> bool:
        """On the fullest host that has room."""
        each, count = min(job.workers, self._cores), -(-job.workers // self._cores)
        fitting = sorted((free, host) for host, free in enumerate(self._free) if free >= each)[:count]
        if len(fitting) < count:
            return False
        for _, host in fitting:
            self._free[host] -= each
        self._to_come[job.workers] -= 1
        self._held[job.trial_id] = datetime.now(UTC)
        ends = self.now + self._chance.uniform(20, 120)
        heapq.heappush(self._due, (ends, len(self._held), job, [host for _, host in fitting]))
        return True


def _story(job: Job) -> Iterator[Event]:
    trial = job.trial_id
    yield Ready(job.workers, [1] * job.workers, ["host"] * job.workers, {})
    yield Started(trial, 0.1, {"device": "cpu"})
    for step in range(1, _POINTS + 1):
        yield Point(trial, step, 64 * step, step / 100, 1.0 / step)
    yield Ended(trial, "completed", _POINTS, 64 * _POINTS, _POINTS / 100, {"compute": 1.0})


def swept(
    trials: int, gangs: SimulatedGangs, workers: Sequence[int] = (1,), clock: Callable[[], float] = time.monotonic
) -> float:
    """Seconds that the scheduler takes for a sweep of so many trials on simulated gangs."""
    trial = {"model": "neuron", "data": "step-function", "images": 64 * _POINTS, "points": _POINTS}
    seeds = {"low": 0, "high": trials // len(workers) - 1, "step": 1}
    spec = parse_spec({"name": "big", "trial": trial, "space": {"seed": seeds, "workers": list(workers)}})
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"sqlite:///{folder}/big.db")) as store:
        sweep_id = store.sweeps.add(spec, plan(spec))
        begun = time.perf_counter()
        with silent().view(store, store.sweeps.find(sweep_id)) as observer:
            Scheduler(store, gangs, observer, clock).run(sweep_id)
        return time.perf_counter() - begun


def rates(trials: Sequence[int], n: int) -> Iterator[Row]:
    """Events a second with 64 gangs, by the number of trials; the first is the baseline of the others."""
    first: float | None = None
    for count in trials:
        found = []
        for _ in range(n):
            gangs = SimulatedGangs(1, 64)
            seconds = swept(count, gangs)
            found.append(gangs.events_told / seconds)
        rate = statistics.median(found)
        ratio = rate / first if first else None
        name = f"events that the scheduler takes, {count:,} trials, 64 gangs"
        told = f"{trials[0]:,} trials" if first else ""
        yield Row(name, rate, "1/s", told, first, ratio, n, spread(found), versions("sqlalchemy"))
        first = first or rate


def decisions(hosts: int, trials: int) -> Iterator[Row]:
    """From one start to the next while an empty cluster fills up."""
    gangs = SimulatedGangs(hosts, 4)
    swept(trials, gangs, (1, 2, 4, 8))
    filling = gangs.started_at[: min(trials, hosts) // 2]
    gaps = [1000 * (after - before) for before, after in pairwise(filling)]
    name = f"seating a trial of 1 to 8 workers on {hosts:,} hosts: median"
    yield Row(name, statistics.median(gaps), "ms", "", None, None, len(gaps), spread(gaps), versions("sqlalchemy"))
    slow = sorted(gaps)[int(0.99 * len(gaps))]
    yield Row(f"{name.removesuffix('median')}99th percentile", slow, "ms", "", None, None, len(gaps), 0.0, {})


def wasted(hosts: int, trials: int) -> Row:
    """The share of all hosts' time in which they were empty while a trial waited that they could seat."""
    workers, cores = (1, 2, 4, 8), 4
    gangs = VirtualHosts(hosts, cores, workers * (trials // len(workers)))
    swept(trials, gangs, workers, clock=lambda: gangs.now)
    name = f"empty hosts while a trial waits that fits them, of {hosts:,} hosts' time"
    return Row(name, 100 * gangs.wasted / (hosts * gangs.now), "%", "", None, None, 1, 0.0, versions("sqlalchemy"))


def rows(quick: bool) -> Iterator[Row]:
    """All that is measured."""
    yield from rates((64, 256) if quick else (1_000, 10_000), 1 if quick else 2)
    yield from decisions(100 if quick else 1_000, 200 if quick else 4_000)
    yield wasted(20 if quick else 1_000, 200 if quick else 10_000)


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
