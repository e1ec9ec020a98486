"""An executor that is told what happens, in virtual time, and who watches it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from engine.protocol import Ended, Evaluated, Event, Failed, Point, Ready, Started
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.seats import Capacity, Seats
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.spec import parse_spec
from sweeper.store import Store, TrialRecord

Script = Callable[[Job], list[Event]]


def completes(job: Job) -> list[Event]:
    """Three points and a good end."""
    trial = job.trial_id
    points: list[Event] = [Point(trial, step, 32 * step, step / 10, 2.0 / step) for step in (1, 2, 3)]
    phases = {"compute": 0.25, "gather": 0.05}
    return [
        Ready(job.workers, [101, 102][: job.workers], ["host"] * job.workers, {"mpi": "some"}),
        Started(trial, 0.5, {"device": "cpu"}),
        *points,
        Ended(trial, "completed", 3, 96, 0.3, phases),
    ]


def ends_as(outcome: str, loss: float, reason: str = "") -> Script:
    def script(job: Job) -> list[Event]:
        return [
            *completes(job)[:-2],
            Point(job.trial_id, 3, 96, 0.3, loss),
            Ended(job.trial_id, outcome, 3, 96, 0.3, {}, reason),
        ]

    return script


def fails(job: Job) -> list[Event]:
    return [*completes(job)[:3], Failed(job.trial_id, "rank 1: ValueError: no", 1, "Traceback\nValueError: no")]


def evaluates(job: Job) -> list[Event]:
    """Evaluated halfway and at the end, where the loss is no number any more."""
    ready, started, *points, ended = completes(job)
    halfway = Evaluated(job.trial_id, 2, 64, 0.2, 1.5, 0.25, 9.0)
    at_end = Evaluated(job.trial_id, 3, 96, 0.3, math.nan, 0.75, 9.0)
    return [ready, started, *points[:2], halfway, points[2], at_end, ended]


class ScriptedExecutor:
    """Has two seats and plays each job's script, one event a call; notes what was running together."""

    def __init__(self, script: Script = completes, seats: int = 2) -> None:
        self.script, self.seats = script, seats
        self.started: list[Job] = []
        self.most_seats = 0
        self.most_together = 0
        self.closed = False
        self.orphans_of: list[str] = []
        self.dismissed_at: list[int] = []
        self.prepared: list[tuple[int, int]] = []  # after so many starts, for so many workers
        self.removed: list[str] = []  # folders of checkpoints
        self.held: dict[str, datetime] = {}
        self._playing: dict[str, tuple[Job, deque[Event]]] = {}

    def capacity(self) -> Capacity:
        return Capacity((Seats(self.seats),))

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:
        """There are none."""

    def start(self, job: Job) -> None:
        self.started.append(job)
        self._playing[job.trial_id] = (job, deque(self.script(job)))
        self.most_together = max(self.most_together, len(self._playing))
        self.most_seats = max(self.most_seats, sum(j.need.cpus for j, _ in self._playing.values()))

    def events(self, timeout_s: float) -> Sequence[JobEvent]:  # noqa: ARG002 - virtual time never waits
        happened = []
        for job, events in list(self._playing.values()):
            if self.closed or not events:
                continue
            where = ("gang-1", "gang-1.log", 2.0, job.granted is not None)
            happened.append(JobEvent(job.trial_id, job.attempt, events.popleft(), *where))
            if not events:
                del self._playing[job.trial_id]
        return happened

    def prepare(self, job: Job) -> None:
        self.prepared.append((len(self.started), job.workers))

    def stop(self, trial_id: str) -> None: ...

    def remove_checkpoints(self, folder: str) -> None:
        self.removed.append(folder)

    def held_since(self, trial_id: str) -> datetime | None:
        return self.held.get(trial_id)

    def dismiss_idle(self) -> None:
        self.dismissed_at.append(len(self.started))

    def end_orphans(self, sweep_id: str) -> None:
        self.orphans_of.append(sweep_id)

    def close(self) -> None:
        self.closed = True


class Watcher:
    """Keeps what an observer is told; `at_point` is called at each point."""

    def __init__(self, at_point: Callable[[], object] = lambda: None) -> None:
        self.started: list[str] = []
        self.points: list[tuple[str, LossPoint]] = []
        self.ended: list[TrialRecord] = []
        self.failures: list[tuple[str, int, str]] = []
        self.kept: list[tuple[TrialRecord, str]] = []
        self._at_point = at_point

    def trial_started(self, trial: TrialRecord) -> None:
        self.started.append(trial.id)

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        self.points.append((trial.id, point))
        self._at_point()

    def trial_ended(self, trial: TrialRecord) -> None:
        self.ended.append(trial)

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        self.kept.append((trial, why))

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        assert trial.state is TrialState.PENDING
        self.failures.append((trial.id, trial.attempt, reason))


class TickingClock:
    """Each look at it is a second later, or more."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def submit(store: Store, **space: list[Any]) -> str:
    spec = parse_spec({"name": "scheduled", "space": space})
    return store.sweeps.add(spec, plan(spec))


class StoppingExecutor(ScriptedExecutor):
    """One that does stop jobs."""

    def stop(self, trial_id: str) -> None:
        if trial_id in self._playing:
            job, _ = self._playing[trial_id]
            self._playing[trial_id] = (job, deque([Ended(trial_id, "stopped", 5, 40, 0.5)]))


def has_seen(watcher: Watcher, points: int) -> bool:
    return len(watcher.points) >= points
