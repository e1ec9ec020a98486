"""A machine in virtual time: an executor that plays recorded trials to the real scheduler, on the real store.

Gangs are kept, reused and sent away as `sweeper.gangs.pool` says. A gang takes a while to come up, a trial to be set
up, and a stop reaches a gang at its next loss point. Nothing waits: the time of the next event is the time.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.recorded import RecordedTrial, Replayed, Sweep, shuffled, winners
from engine.config import TrainingConfig
from engine.protocol import Ended, Event, Point, Ready, Started
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.pool import GangPool
from sweeper.gangs.seats import Capacity, Seats
from sweeper.guides import guide_for
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec
from sweeper.ranking.curve import LossPoint
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import SweepSpec, parse_spec
from sweeper.store import TrialRecord, open_store

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Machine:
    """Seats, whether a worker takes a GPU of them, and the seconds that starts cost.

    `cold_s` is from a job to its gang's being up, `first_set_up_s` the set-up of a gang's first trial, `set_up_s` that
    of each further one, `stop_s` the time that a verdict takes to reach the ranks.
    """

    seats: Seats
    cold_s: float
    first_set_up_s: float
    set_up_s: float
    stop_s: float = 0.005

    @property
    def gpus_per_worker(self) -> int:
        """1 on a machine with GPUs."""
        return int(self.seats.gpus > 0)


def machine_named(name: str) -> Machine:
    """`2cores`, `1gpu`, `4gpus` and the like, at usual costs.

    Raises:
        argparse.ArgumentTypeError: another name.
    """
    found = re.fullmatch(r"([1-9][0-9]*)(cores?|gpus?)", name)
    if not found:
        raise argparse.ArgumentTypeError(f"unknown machine: {name}; write for example 2cores, 1gpu or 4gpus")
    count = int(found[1])
    if found[2].startswith("core"):
        return Machine(Seats(count), cold_s=0.5, first_set_up_s=0.5, set_up_s=0.01)
    return Machine(Seats(16 * count, count), cold_s=4.0, first_set_up_s=1.0, set_up_s=0.02)


@dataclass
class _Playing:
    """A job: the trial that it plays, its gang, when it began to train, and from when on it is to stop."""

    job: Job
    trial: RecordedTrial
    gang: int = -1
    began: float = 0.0
    stop_at: float | None = None


class VirtualExecutor:
    """Plays to the scheduler what `trial_of` has recorded of each job; `now` is the time in seconds.

    It counts the training that it has `spent`, the gangs that it has `opened` and the jobs that it has `started`.
    """

    def __init__(self, machine: Machine, trial_of: Callable[[Job], RecordedTrial]) -> None:
        self.now = self.spent = 0.0
        self.opened = self.started = 0
        self._machine, self._trial_of = machine, trial_of
        self._pool: GangPool[int] = GangPool()
        self._used: set[int] = set()  # gangs that have set up a trial
        self._playing: dict[str, _Playing] = {}
        self._due: list[tuple[float, int, str, Callable[[_Playing], JobEvent]]] = []
        self._order = itertools.count()

    def capacity(self) -> Capacity:
        """See `Executor`."""
        return Capacity((self._machine.seats,))

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:
        """There are none."""

    def start(self, job: Job) -> None:
        """See `Executor`."""
        self.started += 1
        playing = self._playing[job.trial_id] = _Playing(job, self._trial_of(job))
        gang = self._pool.take_idle(job)
        if gang is None:
            for leaving in self._pool.make_room(job, self.capacity()):
                self._pool.left(leaving)
            self._later(self._machine.cold_s, playing, self._up)
        else:
            playing.gang = gang
            self._later(0.0, playing, self._ready)

    def events(self, timeout_s: float) -> Sequence[JobEvent]:  # noqa: ARG002 - virtual time never waits
        """See `Executor`: the next one."""
        if not self._due:
            return []
        self.now, _, trial, happens = heapq.heappop(self._due)
        return [happens(self._playing[trial])]

    def prepare(self, job: Job) -> None:
        """Passed over: gangs come up when they have their seats, as without GPUs."""

    def stop(self, trial_id: str) -> None:
        """See `Executor`."""
        if playing := self._playing.get(trial_id):
            playing.stop_at = self.now + self._machine.stop_s

    def remove_checkpoints(self, folder: str) -> None:
        """See `Executor`: there are none."""

    def held_since(self, trial_id: str) -> datetime | None:  # noqa: ARG002 - nobody asks what seats cost
        """See `Executor`."""
        return None

    def dismiss_idle(self) -> None:
        """See `Executor`."""
        for gang in self._pool.dismiss_idle():
            self._pool.left(gang)

    def end_orphans(self, sweep_id: str) -> None:
        """See `Executor`."""

    def close(self) -> None:
        """See `Executor`."""

    def _up(self, playing: _Playing) -> JobEvent:
        playing.gang, self.opened = self.opened, self.opened + 1
        self._pool.opened(playing.job, playing.gang)
        return self._ready(playing)

    def _ready(self, playing: _Playing) -> JobEvent:
        machine, gang, ranks = self._machine, playing.gang, playing.job.workers
        set_up = machine.set_up_s if gang in self._used else machine.first_set_up_s
        self._used.add(gang)
        self._later(set_up, playing, lambda one: self._begins(one, set_up))
        return self._event(playing, Ready(ranks, [gang] * ranks, ["virtual"] * ranks, {}))

    def _begins(self, playing: _Playing, set_up: float) -> JobEvent:
        playing.began = self.now
        self._next(playing, 0)
        budget = TrainingConfig.model_validate(playing.job.config).known_budget(playing.job.workers)
        assert budget
        effective = {"steps": budget.steps, "images": budget.images}
        return self._event(playing, Started(playing.job.trial_id, set_up, effective))

    def _next(self, playing: _Playing, at: int) -> None:
        begins_at = playing.began + playing.trial.points[at].seconds
        self._later(begins_at - self.now, playing, lambda one: self._report(one, at))

    def _report(self, playing: _Playing, at: int) -> JobEvent:
        point, trial = playing.trial.points[at], playing.job.trial_id
        stops = playing.stop_at is not None and self.now >= playing.stop_at
        if stops or at + 1 == playing.trial.length:
            completes = "completed" if playing.trial.finite else "diverged"
            outcome = completes if at + 1 == playing.trial.length else "stopped"
            self._later(0.0, playing, lambda one: self._ends(one, point, outcome))
        else:
            self._next(playing, at + 1)
        return self._event(playing, Point(trial, point.step, point.images, point.seconds, point.loss))

    def _ends(self, playing: _Playing, point: LossPoint, outcome: str) -> JobEvent:
        trial = playing.job.trial_id
        self.spent += point.seconds
        self._pool.finished(trial, reusable=True)
        del self._playing[trial]
        return self._event(playing, Ended(trial, outcome, point.step, point.images or 0, point.seconds, {}))

    def _event(self, playing: _Playing, event: Event) -> JobEvent:
        return JobEvent(playing.job.trial_id, playing.job.attempt, event, f"gang-{playing.gang}", "")

    def _later(self, seconds: float, playing: _Playing, happens: Callable[[_Playing], JobEvent]) -> None:
        due = self.now + max(0.0, seconds)
        heapq.heappush(self._due, (due, next(self._order), playing.job.trial_id, happens))


class Nobody:
    """An observer that looks away."""

    def trial_started(self, trial: TrialRecord) -> None:
        """See `Observer`."""

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """See `Observer`."""

    def trial_ended(self, trial: TrialRecord) -> None:
        """See `Observer`."""

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """See `Observer`."""

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """See `Observer`."""


def replay_on(
    machine: Machine, sweep: Sweep, threshold: float | None, seed: int | None, prune: str = "none", reuse: str = "none"
) -> Replayed:
    """The sweep as the scheduler runs it on a machine, submitted in a random order, or in its own without a `seed`.

    The trials differ in workers, batch size and learning rate, and those of one global batch and rate may share a
    curve.
    """
    trial_of = {_key(one.parameters): trial for trial, one in sweep.items()}
    spec = _spec(machine, sweep, threshold, prune, reuse)
    order = {_key(sweep[trial].parameters): place for place, trial in enumerate(_order(sweep, seed))}

    def recorded(trial: Job | TrialRecord) -> str:
        return trial_of[_key({**trial.config, "workers": trial.workers})]

    executor = VirtualExecutor(machine, lambda job: sweep[recorded(job)])
    with TemporaryDirectory(dir=_memory()) as folder, closing(open_store(f"sqlite:///{folder}/sweeper.db")) as store:
        sweep_id = store.sweeps.add(spec, sorted(plan(spec), key=lambda trial: order[_key_of(trial)]))
        trials = store.trials.of(sweep_id)
        guide = guide_for(store.sweeps.find(sweep_id), trials, store.attempts.points)
        Scheduler(store, executor, Nobody(), clock=lambda: 0.0, guide=guide).run(sweep_id)
        names = {trial.id: recorded(trial) for trial in trials}
        found = winners(store.trials.candidates(sweep_id, "seconds"), threshold, ("workers",))
    known = {group: winner and names[winner] for group, winner in found.items()}
    return Replayed(executor.spent, known, executor.now, executor.started, executor.opened)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _order(sweep: Sweep, seed: int | None) -> list[str]:
    return list(sweep) if seed is None else shuffled(sweep, seed)


def _key(parameters: Mapping[str, Any]) -> Key:
    return parameters["workers"], parameters["batch_size"], parameters["learning_rate"]


def _spec(machine: Machine, sweep: Sweep, threshold: float | None, prune: str, reuse: str) -> SweepSpec:
    settings = [dict(one.parameters) for one in sweep.values()]
    images = max(one.points[-1].images or 0 for one in sweep.values())  # one that diverged may have fewer
    return parse_spec(
        {
            "name": "replay",
            "trial": {"model": "mlp", "data": "fashion-mnist", "images": images},
            "space": {"points": settings},
            "objective": {"threshold": threshold},
            "prune": prune,
            "reuse": reuse,
            "resources": {"cpus_per_worker": 1, "gpus_per_worker": machine.gpus_per_worker},
        }
    )


def _key_of(trial: TrialSpec) -> Key:
    return _key({**trial.config.model_dump(), "workers": trial.workers})
