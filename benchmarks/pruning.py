"""`python -m benchmarks.pruning`: a grid for real, the same pruned and shared for real, and its replay.

    python -m benchmarks.pruning --json FILE

The grid of 60 trials with one and two workers runs on two cores and is recorded. Then it runs with `prune: forecast`
and `reuse: equivalent`, and the recorded grid is replayed on a virtual machine of the same start-up costs. On a busy
machine the times of steps differ from run to run, so that training is counted in steps, each at the usual time of the
grid's steps of its worker count and batch size.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from benchmarks.machine_rows import GROUP_BY, worst_ratio
from benchmarks.measure import Row, add_arguments, report, spread, versions
from benchmarks.recorded import RecordedTrial, Sweep, at_usual_paces, grid_winners, winners
from benchmarks.virtual_machine import Machine, Nobody, replay_on
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.seats import Capacity, Seats
from sweeper.guides import guide_for
from sweeper.plan import plan
from sweeper.ranking.curve import LossPoint
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import AttemptRecord, Store, TrialRecord, open_store

CORES = 2
BATCHES, RATES = (16, 32, 64, 128, 256), (0.01, 0.03, 0.1, 0.3, 0.6, 1.0)
QUICK_BATCHES, QUICK_RATES = (128, 256), (0.1, 0.3)
PRUNED = {"prune": "forecast", "reuse": "equivalent"}


@dataclass(frozen=True)
class Ran:
    """A sweep that has run: its trials, and the points of each of its attempts that trained; wall time in seconds."""

    trials: Sequence[TrialRecord]
    attempts: Mapping[str, Sequence[tuple[AttemptRecord, Sequence[LossPoint]]]]
    found: Mapping[Any, str | None]
    wall: float

    def key(self, trial: str) -> tuple[Any, ...]:
        """What tells a trial from others in every sweep."""
        one = next(each for each in self.trials if each.id == trial)
        return one.workers, one.config["batch_size"], one.config["learning_rate"]

    def recorded(self) -> dict[str, RecordedTrial]:
        """Each trial by the points of its last attempt."""
        return {
            one.id: RecordedTrial(
                dict(zip(("workers", "batch_size", "learning_rate"), self.key(one.id), strict=True)),
                self.attempts[one.id][-1][1],
            )
            for one in self.trials
        }


def run(images: int, threshold: float, batches: Sequence[int], rates: Sequence[float], **how: str) -> Ran:
    """Train a sweep on the cores of this machine."""
    space = {"workers": [1, 2], "batch_size": list(batches), "learning_rate": list(rates)}
    trial = {"model": "mlp", "data": "fashion-mnist", "images": images, "points": 100}
    spec = parse_spec({"name": "pruning", "trial": trial, "space": space, "objective": {"threshold": threshold}, **how})
    with _store() as store, closing(LocalExecutor(Capacity((Seats(CORES),)))) as executor:
        sweep_id = store.sweeps.add(spec, plan(spec))
        guide = guide_for(store.sweeps.find(sweep_id), store.trials.of(sweep_id), store.attempts.points)
        Scheduler(store, executor, Nobody(), guide=guide).run(sweep_id)
        return _ran(store, sweep_id, threshold)


def _ran(store: Store, sweep_id: str, threshold: float) -> Ran:
    trials = store.trials.of(sweep_id)
    attempts = {
        trial.id: [
            (attempt, points)
            for attempt in store.attempts.of(trial.id)
            if attempt.gang_id and (points := store.attempts.points(trial.id, attempt.number))
        ]
        for trial in trials
    }
    every = [attempt for tried in attempts.values() for attempt, _ in tried]
    ends = [attempt.ended_at for attempt in every if attempt.ended_at]
    wall = (max(ends) - min(attempt.started_at for attempt in every)).total_seconds()
    found = winners(store.trials.candidates(sweep_id, "seconds"), threshold, GROUP_BY)
    return Ran(trials, attempts, found, wall)


@contextmanager
def _store() -> Iterator[Store]:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"SWEEPER_LOGS": folder}),
        closing(open_store(f"sqlite:///{folder}/sweeper.db")) as store,
    ):
        yield store


def machine_of(ran: Ran) -> Machine:
    """Two cores at the start-up costs that a sweep had: medians over the first trials of gangs, and over the others."""
    first: dict[str, AttemptRecord] = {}
    later: list[AttemptRecord] = []
    every = [attempt for tried in ran.attempts.values() for attempt, _ in tried]
    for attempt in sorted(every, key=lambda attempt: attempt.started_at):
        assert attempt.gang_id
        if first.setdefault(attempt.gang_id, attempt) is not attempt:
            later.append(attempt)
    cold = statistics.median(attempt.startup_seconds or 0.0 for attempt in first.values())
    first_set_up, set_up = (
        statistics.median(attempt.setup_seconds or 0.0 for attempt in attempts) for attempts in (first.values(), later)
    )
    return Machine(Seats(CORES), cold, first_set_up, set_up)


def spent(ran: Ran, grid: Sweep) -> float:
    """Seconds of all steps that a sweep has trained, at the paces of a recorded grid."""
    paces = {_key(one): one.points[-1].seconds / one.points[-1].step for one in grid.values()}
    return sum(points[-1].step * paces[ran.key(trial)] for trial, tried in ran.attempts.items() for _, points in tried)


def _key(one: RecordedTrial) -> tuple[Any, ...]:
    return tuple(one.parameters[name] for name in ("workers", "batch_size", "learning_rate"))


def rows(images: int, threshold: float, times: int, batches: Sequence[int], rates: Sequence[float]) -> Iterator[Row]:
    """The pruned sweep against the grid, and against the replay."""
    ran = run(images, threshold, batches, rates)
    grid = at_usual_paces(ran.recorded())
    replayed = replay_on(machine_of(ran), grid, threshold, None, **PRUNED)
    pruned = [run(images, threshold, batches, rates, **PRUNED) for _ in range(times)]
    whole, used = sum(one.seconds for one in grid.values()), versions("torch", "scikit-learn")
    real = [spent(one, grid) for one in pruned]
    middle = statistics.median(real)
    name = f"{len(grid)} trials on {CORES} cores, forecast and shared curves"
    yield Row(f"{name}: training", middle, "s", "grid", whole, middle / whole, times, spread(real), used)
    of_replay = middle / replayed.spent
    yield Row(f"{name}: training", middle, "s", "replayed", replayed.spent, of_replay, times, spread(real), used)
    walls = [one.wall for one in pruned]
    wall = statistics.median(walls)
    yield Row(f"{name}: wall time", wall, "s", "grid", ran.wall, wall / ran.wall, times, spread(walls), used)
    worst = max(_ratio(grid, threshold, one) for one in pruned)
    yield Row(f"{name}: largest area of a winner", worst, "", "the true winner's", 1.0, worst, times, 0.0, used)


def _ratio(grid: Sweep, threshold: float, ran: Ran) -> float:
    trial_of = {_key(one): trial for trial, one in grid.items()}
    found = {group: trial_of[ran.key(trial)] if trial else None for group, trial in ran.found.items()}
    return worst_ratio(grid, grid_winners(grid, threshold, GROUP_BY), found)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--images", type=int, default=24_000, help="images of a trial (default: 24,000)")
    parser.add_argument("--threshold", type=float, default=0.5, help="qualifying minimum loss (default: 0.5)")
    parser.add_argument("--times", type=int, default=2, help="runs of the pruned sweep (default: 2)")
    given = parser.parse_args()
    if given.quick:
        report(rows(6_000, 1.0, 1, QUICK_BATCHES, QUICK_RATES), given.json)
    else:
        report(rows(given.images, given.threshold, given.times, BATCHES, RATES), given.json)


if __name__ == "__main__":
    main()
