"""What the scheduler knows of gangs: jobs in, events out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.protocol import Event


@dataclass(frozen=True)
class Seats:
    """Cores and GPUs."""

    cpus: int
    gpus: int = 0

    def fits(self, free: Seats) -> bool:
        """Whether `free` seats are enough."""
        return self.cpus <= free.cpus and self.gpus <= free.gpus

    def __add__(self, other: Seats) -> Seats:
        return Seats(self.cpus + other.cpus, self.gpus + other.gpus)

    def __sub__(self, other: Seats) -> Seats:
        return Seats(self.cpus - other.cpus, self.gpus - other.gpus)


@dataclass(frozen=True)
class Capacity:
    """Cores and GPUs that gangs may use; `hosts` has one entry a host, since a gang must fit on one."""

    hosts: tuple[Seats, ...]

    @property
    def total(self) -> Seats:
        """All hosts together."""
        return Seats(sum(host.cpus for host in self.hosts), sum(host.gpus for host in self.hosts))

    def can_ever_seat(self, need: Seats) -> bool:
        """Whether some host is large enough when it is empty."""
        return any(need.fits(host) for host in self.hosts)

    def most_of(self, need: Seats) -> Seats | None:
        """As much of `need` as one host has; None where none has any core, or any GPU for those who need one."""
        given = [Seats(min(need.cpus, host.cpus), min(need.gpus, host.gpus)) for host in self.hosts]
        usable = [seats for seats in given if seats.cpus and bool(seats.gpus) == bool(need.gpus)]
        return max(usable, key=lambda seats: (seats.gpus, seats.cpus), default=None)


@dataclass(frozen=True)
class Job:
    """One attempt at a trial, as plain values that travel as JSON; `checkpoints` is the folder for them, or empty.

    `config` is a TrainingConfig or a CommandConfig. `limit_s` bounds the whole attempt
    from its start, `stall_s` the time between two events of it. `granted` are the cores and GPUs of an oversubscribed
    gang, fewer than its ranks ask for. The executor fills in `cores`, to which ranks are bound, each to its share, and
    `gpus`, the names of those that they see (None: all that are visible).
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
    granted: tuple[int, int] | None = None
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
    def need(self) -> Seats:
        """What the gang for this job takes."""
        return (
            Seats(*self.granted) if self.granted else seats_of(self.workers, self.cpus_per_worker, self.gpus_per_worker)
        )


@dataclass(frozen=True)
class JobEvent:
    """An event of a job; `gang_id` and `log` are those of the gang that serves it.

    `elapsed_s` is the time since the job was started. `shared`, of the first and the last event, where ranks share
    cores or GPUs, with each other or with other sweeps: their times then tell little.
    """

    trial_id: str
    attempt: int
    event: Event
    gang_id: str = ""
    log: str = ""
    elapsed_s: float = field(default=0.0, compare=False)
    shared: bool = False


def seats_of(workers: int, cpus_per_worker: int, gpus_per_worker: int) -> Seats:
    """What a gang of so many workers takes."""
    return Seats(workers * cpus_per_worker, workers * gpus_per_worker)


class Executor(Protocol):
    """Starts, feeds, watches and stops gangs; decides nothing.

    The scheduler calls all methods from one thread. `start` returns at once; what becomes of the job arrives through
    `events`: Ready once its gang is up (of a warm gang too), Started, Points and Evaluateds as they come, and exactly
    one Ended or Failed, in this order and nothing after. A job that cannot be started is a Failed event and no
    exception. An executor never runs more than it is given, and expects the caller to give no more than `capacity`
    seats.
    """

    def capacity(self) -> Capacity:
        """What may be used. Raises LaunchError where it cannot be found out."""

    def start(self, job: Job) -> None:
        """Begin a job, on a gang of its own or an idle one of the same shape."""

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        """What has happened since the last call; waits up to `timeout_s` for the first event."""

    def stop(self, trial_id: str) -> None:
        """Ask a job to end at its next loss point, or now where it waits for seats; it then ends as stopped.

        Unknown jobs are ignored.
        """

    def dismiss_idle(self) -> None:
        """End gangs that serve nothing: no job will come soon, and others may wait for their seats."""

    def end_orphans(self, sweep_id: str) -> None:
        """End what earlier runs of this sweep, which were killed, have left on this machine."""

    def close(self) -> None:
        """End all gangs, running ones at once, and leave no process behind; safe to call twice.

        Jobs that this cuts off get no further event: they have neither ended nor failed.
        """
