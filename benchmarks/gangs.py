"""Gangs under the scheduler, with a store: what a trial costs besides its training, and whether many leave anything."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import psutil

from benchmarks.measure import Row, alone, arguments, compare, report, spread, versions
from sweeper.curve import LossPoint
from sweeper.gangs.base import Capacity, Seats
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.ray import RayExecutor
from sweeper.plan import plan
from sweeper.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import TrialRecord, open_store
from sweeper.trial import TrialState

WORKERS = 2
TRAINING = {"model": "neuron", "data": "step-function", "batch_size": 32, "learning_rate": 0.01, "points": 10}


@dataclass
class Watch:
    """When trials ended and began to train, on one clock, and what the processes held at some of their ends."""

    at: tuple[int, ...] = ()  # the numbers of trials at whose ends to look
    ended: list[float] = field(default_factory=list)
    began: list[tuple[str, float]] = field(default_factory=list)
    held: list[tuple[int, int, int]] = field(default_factory=list)  # bytes, open files, processes
    _reported: set[str] = field(default_factory=set)

    def trial_started(self, trial: TrialRecord) -> None:
        """Nothing to note."""

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """The first point tells when the clock began."""
        if trial.id not in self._reported:
            self._reported.add(trial.id)
            self.began.append((trial.id, time.perf_counter() - point.seconds))

    def trial_ended(self, trial: TrialRecord) -> None:
        """Note when, and now and then look at what is held."""
        if trial.state is not TrialState.COMPLETED:
            raise SystemExit(f"trial {trial.id}: {trial.state}, {trial.reason}")
        self.ended.append(time.perf_counter())
        if len(self.ended) in self.at:
            self.held.append(holdings())

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """None is to fail here."""
        raise SystemExit(f"trial {trial.id}: {reason}")


@dataclass(frozen=True)
class Swept:
    """What a sweep came to: `set_up` and `trained` are each trial's own seconds, in the order of their beginnings."""

    watch: Watch
    set_up: list[float]
    trained: list[float]

    def turn_rounds(self) -> list[float]:
        """Milliseconds from each trial's end to the next one's first step, less what making its network took."""
        starts = [began for _, began in self.watch.began[1:]]
        pairs = zip(starts, self.watch.ended, self.set_up[1:], strict=False)
        return [1e3 * (began - ended - set_up) for began, ended, set_up in pairs]

    def overhead(self) -> float:
        """Seconds from the first trial's first step to the last one's end that were no training, a trial."""
        wall = self.watch.ended[-1] - self.watch.began[0][1]
        return (wall - sum(self.trained)) / len(self.trained)


def swept(trials: int, images: int, executor: str = "local", at: tuple[int, ...] = ()) -> Swept:
    """Run so many trials of `WORKERS` ranks one after another, on a store of their own."""
    space = {"workers": [WORKERS], "seed": list(range(trials))}
    spec = parse_spec({"name": "benchmark", "trial": {**TRAINING, "images": images}, "space": space})
    watch = Watch(at)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"SWEEPER_LOGS": folder}),
        closing(open_store(f"sqlite:///{folder}/sweeper.db")) as store,
        closing(_executor(executor)) as gangs,
    ):
        sweep_id = store.add_sweep(spec, plan(spec))
        Scheduler(store, gangs, watch).run(sweep_id)
        seconds = {trial.id: trial.seconds or 0.0 for trial in store.trials(sweep_id)}
        order = [trial_id for trial_id, _ in watch.began]
        set_up = [store.attempts(trial_id)[-1].setup_seconds or 0.0 for trial_id in order]
    return Swept(watch, set_up, [seconds[trial_id] for trial_id in order])


def _executor(name: str) -> LocalExecutor | RayExecutor:
    one_gang = Capacity((Seats(WORKERS),))
    return LocalExecutor(one_gang) if name == "local" else RayExecutor(capacity=one_gang)


def holdings() -> tuple[int, int, int]:
    """Memory, open files and processes of this process and all below it."""
    me = psutil.Process()
    family = [me, *me.children(recursive=True)]
    return sum(p.memory_info().rss for p in family), sum(p.num_fds() for p in family), len(family)


def images_for(seconds: float) -> int:
    """Images on which a trial trains about so long."""
    tried = swept(4, 20_000)
    return max(640, int(20_000 * seconds / statistics.median(tried.trained[1:])))


def turn_rounds(executor: str, trials: int) -> Iterator[Row]:
    """Of a warm gang: the median, and the slowest but one in a hundred."""
    found = sorted(swept(trials, 3200, executor).turn_rounds())
    slow = found[max(0, int(len(found) * 0.99) - 1)]
    name = f"turn-round of a warm gang, {WORKERS} ranks, {executor} executor, {len(found)} trials"
    used = versions("torch", "mpi4py", *(["ray"] if executor == "ray" else []))
    yield Row(f"{name}: median", statistics.median(found), "ms", "", None, None, len(found), spread(found), used)
    yield Row(f"{name}: 99th percentile", slow, "ms", "", None, None, len(found), 0.0, used)


def overheads(trials: int, seconds: float, n: int) -> Iterator[Row]:
    """Of trials that train for a while."""
    images = images_for(seconds)

    def share() -> float:
        done = swept(trials, images)
        return 100 * done.overhead() * trials / sum(done.trained)

    name = f"{trials} trials of about {seconds:g} s, {WORKERS} ranks: all but training"
    yield alone(name, "% of training", share, n, versions("torch", "mpi4py"))


def leaks(trials: int, early: int) -> Iterator[Row]:
    """Whether many short trials leave memory, open files or processes."""
    first, last = swept(trials, images_for(0.05), at=(early, trials)).watch.held
    for what, unit, before, after in zip(
        ("memory", "open files", "processes"), ("bytes", "files", "processes"), first, last, strict=True
    ):
        name = f"{what} after {trials} trials of about 50 ms"
        yield compare(name, unit, lambda v=after: float(v), f"after {early}", lambda v=before: float(v), 1, {})  # type: ignore[misc]


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    rows = list(turn_rounds("local", 12 if given.quick else 120))
    if not given.quick:
        rows += [*turn_rounds("ray", 120), *overheads(100, 1.0, 1), *leaks(2000, 200)]
    report(rows, Path(given.json) if given.json else None)


if __name__ == "__main__":
    main()
