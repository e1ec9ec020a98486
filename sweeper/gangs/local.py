"""Gangs as child processes of this one: no Ray, one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sweeper.errors import LaunchError
from sweeper.gangs.ahead import Ahead, free_memory
from sweeper.gangs.base import Job
from sweeper.gangs.gang import Gang, open_gang
from sweeper.gangs.machine import local_capacity, usable_cpus
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Capacity
from sweeper.gangs.streaming import GangHandle, StreamingExecutor

_LEAST_FREE = 0.5  # of a GPU's memory: gangs that train there must not miss what one that waits has taken


class LocalExecutor(StreamingExecutor):
    """Runs gangs here. `capacity` replaces what the machine says it has; for `share` see `StreamingExecutor`.

    The gang of the shape that comes next is opened ahead on GPUs that are still in use, where cores are free for it.
    Without GPUs it would take its cores from those who train.
    """

    def __init__(self, capacity: Capacity | None = None, *, share: bool = False) -> None:
        self._seat_locks = SeatLocks.of_this_machine()
        super().__init__(self._seat_locks, share=share)
        self._capacity = capacity or local_capacity()
        self._ahead = Ahead(_open_beside)

    def capacity(self) -> Capacity:
        """This machine's cores and GPUs."""
        return self._capacity

    def open_gang(self, job: Job) -> GangHandle:
        """A child process: the one that came up ahead for this job, or a new one."""
        return self._ahead.take(job) or open_gang(job)

    def prepare(self, job: Job) -> None:
        """See `Executor.prepare`."""
        if job.is_command or job.granted or not job.need.gpus or self.serves(job):
            return
        gpus = self._seat_locks.held_gpus()[: job.need.gpus]
        if len(gpus) == job.need.gpus and usable_cpus() - self.held().cpus >= job.workers:
            self._ahead.begin(replace(job, gpus=tuple(gpus)))

    def came_up_ahead(self, gang: GangHandle) -> bool:
        """See `StreamingExecutor.came_up_ahead`."""
        return isinstance(gang, Gang) and gang.came_up_ahead

    def preferred_gpus(self, job: Job) -> Sequence[str]:
        """Those that the gang which came up ahead can see."""
        return self._ahead.gpus_for(job)

    def dismiss_idle(self) -> None:
        """See `Executor.dismiss_idle`."""
        super().dismiss_idle()
        self._ahead.end()

    def close(self) -> None:
        """See `Executor.close`."""
        ending = self._ahead.end(closing=True)
        super().close()
        ending.join()


def _open_beside(job: Job) -> Gang:
    """A gang on GPUs that others use, where these leave it enough memory."""
    free = free_memory(job.gpus or ())
    if free < _LEAST_FREE:
        raise LaunchError(f"of the memory of GPUs {', '.join(job.gpus or ())} {free:.0%} is free", "wait for seats")
    return Gang(job)
