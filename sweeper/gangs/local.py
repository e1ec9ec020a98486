"""Gangs as child processes of this one: no Ray, one machine."""

from __future__ import annotations

from sweeper.gangs.base import Job
from sweeper.gangs.gang import open_gang
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Capacity
from sweeper.gangs.streaming import GangHandle, StreamingExecutor


class LocalExecutor(StreamingExecutor):
    """Runs gangs here. `capacity` replaces what the machine says it has; for `share` see `StreamingExecutor`."""

    def __init__(self, capacity: Capacity | None = None, *, share: bool = False) -> None:
        super().__init__(SeatLocks.of_this_machine(), share=share)
        self._capacity = capacity or local_capacity()

    def capacity(self) -> Capacity:
        """This machine's cores and GPUs."""
        return self._capacity

    def open_gang(self, job: Job) -> GangHandle:
        """A child process."""
        return open_gang(job)
