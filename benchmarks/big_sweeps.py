"""The scheduler under big sweeps: `python -m benchmarks.big_sweeps`.

Simulated gangs say at once what real ones would say over time, so that the rate is the scheduler's own, its SQLite
store included. It must not fall as the number of trials grows.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
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


def _story(job: Job) -> Iterator[Event]:
    trial = job.trial_id
    yield Ready(job.workers, [1] * job.workers, ["host"] * job.workers, {})
    yield Started(trial, 0.1, {"device": "cpu"})
    for step in range(1, _POINTS + 1):
        yield Point(trial, step, 64 * step, step / 100, 1.0 / step)
    yield Ended(trial, "completed", _POINTS, 64 * _POINTS, _POINTS / 100, {"compute": 1.0})


def swept(trials: int, gangs: SimulatedGangs, workers: Sequence[int] = (1,)) -> float:
    """Seconds that the scheduler takes for a sweep of so many trials on simulated gangs."""
    trial = {"model": "neuron", "data": "step-function", "images": 64 * _POINTS, "points": _POINTS}
    seeds = {"low": 0, "high": trials // len(workers) - 1, "step": 1}
    spec = parse_spec({"name": "big", "trial": trial, "space": {"seed": seeds, "workers": list(workers)}})
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"sqlite:///{folder}/big.db")) as store:
        sweep_id = store.sweeps.add(spec, plan(spec))
        begun = time.perf_counter()
        with silent().view(store, store.sweeps.find(sweep_id)) as observer:
            Scheduler(store, gangs, observer).run(sweep_id)
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


def rows(quick: bool) -> Iterator[Row]:
    """All that is measured."""
    yield from rates((64, 256) if quick else (1_000, 10_000), 1 if quick else 2)
    yield from decisions(100 if quick else 1_000, 200 if quick else 4_000)


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
