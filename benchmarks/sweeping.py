"""Sweeps that are watched: when trials began, trained and ended, and what the processes held meanwhile."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple
from unittest.mock import patch

import psutil

from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.seats import Capacity, Seats
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import Store, TrialRecord, open_store

WORKERS = 2
TRAINING = {"model": "neuron", "data": "step-function", "batch_size": 32, "learning_rate": 0.01, "points": 10}


class End(NamedTuple):
    """Of a trial: its number in the plan, when it was over and how long it had trained, both in seconds."""

    number: int
    at: float
    trained: float


def overhead(ends: Sequence[End], at_once: int = 1) -> float:
    """Milliseconds that a trial adds to a sweep besides its training, of trials in the order of their ends.

    The wall time less the training's share of it, a trial: (wall - training / `at_once`) / trials. Starting what serves
    the trials is left out: the clock begins when the first `at_once` of the plan have ended, and only what ends
    afterwards counts.
    """
    begin = max(place for place, end in enumerate(ends) if end.number < at_once)
    counted = ends[begin + 1 :]
    wall = counted[-1].at - ends[begin].at
    return 1e3 * (wall - sum(end.trained for end in counted) / at_once) / len(counted)


@dataclass
class Watch:
    """When trials ended and began to train, on one clock, and what the processes held at some of their ends."""

    at: tuple[int, ...] = ()  # the numbers of trials at whose ends to look
    ends: list[End] = field(default_factory=list)
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
        self.ends.append(End(trial.parameters["seed"], time.perf_counter(), trial.seconds or 0.0))
        if len(self.ends) in self.at:
            self.held.append(holdings())

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """None is repeated here."""
        raise SystemExit(f"trial {trial.id}: {why}")

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """None is to fail here."""
        raise SystemExit(f"trial {trial.id}: {reason}")


@dataclass(frozen=True)
class Swept:
    """What a sweep came to: `set_up` is each trial's own seconds, in the order of their beginnings."""

    watch: Watch
    set_up: list[float]

    @property
    def trained(self) -> list[float]:
        """Each trial's seconds, in the order of their ends."""
        return [end.trained for end in self.watch.ends]

    def turn_rounds(self) -> list[float]:
        """Milliseconds from each trial's end to the next one's first step, less what making its network took."""
        starts = [began for _, began in self.watch.began[1:]]
        pairs = zip(starts, self.watch.ends, self.set_up[1:], strict=False)
        return [1e3 * (began - end.at - set_up) for began, end, set_up in pairs]


def swept(trials: int, images: int, executor: str = "local", at: tuple[int, ...] = (), at_once: int = 1) -> Swept:
    """Run so many trials of `WORKERS` ranks, `at_once` side by side, on a store of their own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"SWEEPER_LOGS": folder}),
        closing(open_store(f"sqlite:///{folder}/sweeper.db")) as store,
        closing(_executor(executor, at_once)) as gangs,
    ):
        watch = Watch(at)
        _run(store, gangs, watch, trials, images)
        set_up = [store.attempts.of(trial_id)[-1].setup_seconds or 0.0 for trial_id, _ in watch.began]
    return Swept(watch, set_up)


def _run(store: Store, gangs: LocalExecutor | RayExecutor, watch: Watch, trials: int, images: int) -> None:
    space = {"workers": [WORKERS], "seed": list(range(trials))}
    spec = parse_spec({"name": "benchmark", "trial": {**TRAINING, "images": images}, "space": space})
    Scheduler(store, gangs, watch).run(store.sweeps.add(spec, plan(spec)))


def _executor(name: str, at_once: int) -> LocalExecutor | RayExecutor:
    seats = Capacity((Seats(WORKERS * at_once),))
    return LocalExecutor(seats) if name == "local" else RayExecutor(capacity=seats)


def holdings() -> tuple[int, int, int]:
    """Memory, open files and processes of this process and all below it."""
    me = psutil.Process()
    family = [me, *me.children(recursive=True)]
    return sum(p.memory_info().rss for p in family), sum(p.num_fds() for p in family), len(family)
