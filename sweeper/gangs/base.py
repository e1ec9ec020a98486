"""What the scheduler knows of gangs: jobs in, events out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from engine.protocol import Event
from sweeper.gangs.seats import Capacity, Seats, seats_of
from sweeper.plan.trial import TrialSpec


@dataclass(frozen=True)
class Job:
    """One attempt at a trial, as plain values that travel as JSON; `checkpoints` is the folder for them, or empty.

    `config` is a TrainingConfig or a CommandConfig. `limit_s` bounds the whole attempt
    from its start, `stall_s` the time between two events of it. `log_here` is where the gang's own host keeps the log
    that is to become `log`, if that is on another one. `granted` are the cores and GPUs of an oversubscribed
    gang, fewer than its ranks ask for. With `spread` its ranks sit on as many hosts as can be. The executor fills in
    `cores`, to which ranks are bound, each to its share, and `gpus`, the names of those that they see (None: all that
    are visible).
    """

    trial_id: str
    attempt: int
    workers: int
    cpus_per_worker: int
    gpus_per_worker: int
    config: dict[str, Any]
    log: str
    checkpoints: str = ""
    limit_s: float | None = None
    stall_s: float | None = None
    log_here: str = ""
    granted: tuple[int, int] | None = None
    spread: bool = False
    cores: tuple[int, ...] = ()
    gpus: tuple[str, ...] | None = None

    @property
    def sweep_id(self) -> str:
        """The sweep that the trial is of."""
        return self.trial_id.partition("-")[0]

    @property
    def is_command(self) -> bool:
        """Whether a user's own program is to be run, in a gang that serves nothing else."""
        return "command" in self.config

    @property
    def shape(self) -> tuple[int, int, int, str]:
        """Workers, the cores and GPUs of each, and NCCL's algorithm: gangs of a shape serve the same jobs.

        Ranks keep NCCL's communicator from trial to trial, and with it the algorithm.
        """
        algorithm = self.config.get("exchange", {}).get("algorithm", "auto")
        return self.workers, self.cpus_per_worker, self.gpus_per_worker, algorithm

    @property
    def need(self) -> Seats:
        """What the gang for this job takes."""
        return (
            Seats(*self.granted) if self.granted else seats_of(self.workers, self.cpus_per_worker, self.gpus_per_worker)
        )


@dataclass(frozen=True)
class JobEvent:
    """An event of a job; `gang_id` and `log` are those of the gang that serves it.

    `elapsed_s` is the time since the job was started. Only the first and the last event have these two: `shared`, where
    ranks share cores or GPUs, with each other or with other sweeps, and their times tell little; and `log_at`, how far
    the log goes in bytes. What lies between is what the ranks have printed for this job.
    """

    trial_id: str
    attempt: int
    event: Event
    gang_id: str = ""
    log: str = ""
    elapsed_s: float = field(default=0.0, compare=False)
    shared: bool = False
    log_at: int | None = field(default=None, compare=False)


class Executor(Protocol):
    """Starts, feeds, watches and stops gangs; decides nothing.

    The scheduler calls all methods from one thread. `start` returns at once; what becomes of the job arrives through
    `events`: Ready once its gang is up (of a warm gang too, and of another one that takes the job over before it
    trains), Started, Points and Evaluateds as they come, and exactly
    one Ended or Failed, in this order and nothing after. A job that cannot be started is a Failed event and no
    exception. An executor never runs more than it is given, and expects the caller to give no more than `capacity`
    seats.
    """

    def capacity(self) -> Capacity:
        """What may be used. Raises LaunchError where it cannot be found out."""

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:
        """See that the hosts have what the ranks of such trials need, before the first job.

        Raises LaunchError where they do not.
        """

    def start(self, job: Job) -> None:
        """Begin a job, on a gang of its own or an idle one of the same shape."""

    def prepare(self, job: Job) -> None:
        """A job like this one will come when others have ended: its gang may come up beside them, where it has room.

        It is a hint, to which nothing is answered; any number of them may come, and of jobs that never do.
        """

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        """What has happened since the last call; waits up to `timeout_s` for the first event."""

    def stop(self, trial_id: str) -> None:
        """Ask a job to end at its next loss point, or now where it waits for seats; it then ends as stopped.

        Unknown jobs are ignored.
        """

    def remove_checkpoints(self, folder: str) -> None:
        """Remove a trial's checkpoints from hosts that do not share this folder: nobody goes on from them.

        Returns at once. Hosts that do not answer keep theirs; no later attempt goes on from these either.
        """

    def held_since(self, trial_id: str) -> datetime | None:
        """When the job that was started last for a trial got its seats, in UTC; None if it has had none so far."""

    def dismiss_idle(self) -> None:
        """End gangs that serve nothing: no job will come soon, and others may wait for their seats."""

    def end_orphans(self, sweep_id: str) -> None:
        """End what earlier runs of this sweep, which were killed, have left on this machine."""

    def close(self) -> None:
        """End all gangs, running ones at once, and leave no process behind; safe to call twice.

        Jobs that this cuts off get no further event: they have neither ended nor failed.
        """
