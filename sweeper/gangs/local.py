"""Gangs as child processes of this one: no Ray, one machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from sweeper.gangs.base import Capacity, Job, JobEvent
from sweeper.gangs.cores import usable_cores
from sweeper.gangs.machine import local_capacity, local_gpus
from sweeper.gangs.opening import open_gang
from sweeper.gangs.streaming import GangHandle, StreamingExecutor


class LocalExecutor(StreamingExecutor):
    """Runs gangs here. `capacity` replaces what the machine says it has."""

    def __init__(self, capacity: Capacity | None = None) -> None:
        super().__init__(usable_cores())
        self._capacity = capacity or local_capacity()
        self._free_gpus = local_gpus()
        self._gpus_lock = threading.Lock()

    def capacity(self) -> Capacity:
        """This machine's cores and GPUs."""
        return self._capacity

    def open_gang(self, job: Job) -> GangHandle:
        """A child process with GPUs of its own, where the job needs any."""
        return _SeatedGang(job, self)

    def take_gpus(self, count: int) -> list[str]:
        """GPUs that nobody else of this executor has."""
        with self._gpus_lock:
            taken, self._free_gpus = self._free_gpus[:count], self._free_gpus[count:]
        return taken

    def return_gpus(self, gpus: list[str]) -> None:
        """Give GPUs back."""
        with self._gpus_lock:
            self._free_gpus += gpus


class _SeatedGang:
    """A gang and the GPUs that are its own until it is closed."""

    def __init__(self, job: Job, executor: LocalExecutor) -> None:
        self._executor = executor
        self._gpus = executor.take_gpus(job.need.gpus)
        try:
            self._gang = open_gang(job, self._gpus)
        except BaseException:
            executor.return_gpus(self._gpus)
            raise
        self._closing = threading.Lock()

    def run(self, job: Job) -> Iterator[JobEvent]:
        """See `Gang.run`."""
        return self._gang.run(job)

    def alive(self) -> bool:
        """See `Gang.alive`."""
        return self._gang.alive()

    def stop(self, trial_id: str) -> None:
        """See `Gang.stop`."""
        self._gang.stop(trial_id)

    def close(self) -> None:
        """End the gang, then give its GPUs back; once."""
        with self._closing:
            self._gang.close()
            self._executor.return_gpus(self._gpus)
            self._gpus = []
