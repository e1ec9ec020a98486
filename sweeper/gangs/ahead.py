"""Gangs that come up before their seats are free, beside those that still train."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from sweeper.gangs.base import Job

logger = logging.getLogger(__name__)


class PreparingGang(Protocol):
    """What a gang that is opened ahead of its time can do besides; see `sweeper.gangs.gang.Gang`."""

    def prepare(self, job: Job) -> None:
        """Have ready what the job needs, without training it."""

    def alive(self) -> bool:
        """Whether the gang can serve a job."""

    def kill(self) -> None:
        """End the gang now: it has served nobody."""


G = TypeVar("G", bound=PreparingGang)


class _Coming(Generic[G]):
    """A gang for jobs like `job` on its way; opened in a thread of its own."""

    def __init__(self, job: Job, open_gang: Callable[[Job], G]) -> None:
        self.job = job
        self._open_gang = open_gang
        self._gang: G | None = None
        self._thread = threading.Thread(target=self._open, name=f"ahead {job.trial_id}", daemon=True)
        self._thread.start()

    def arrived(self) -> G | None:
        """The gang, once it is open; None where it could not be opened."""
        self._thread.join()
        return self._gang

    def kill(self) -> None:
        """End it."""
        if (gang := self.arrived()) is not None:
            gang.kill()

    def _open(self) -> None:
        gang = None
        try:
            gang = self._open_gang(self.job)
            gang.prepare(self.job)
            self._gang = gang
        except Exception as error:  # it was to save time, and nobody waits for it
            logger.debug("no gang of %d workers comes up ahead: %s", self.job.workers, error, exc_info=True)
            if gang is not None:
                gang.kill()


class Ahead(Generic[G]):
    """At most one gang, which is opened for the jobs of a shape that will come next; safe for several threads.

    It holds no seats. Its GPUs are those of gangs of the same executor: it takes them over when these have gone.
    """

    def __init__(self, open_gang: Callable[[Job], G]) -> None:
        self._open_gang = open_gang
        self._lock = threading.Lock()
        self._coming: _Coming[G] | None = None
        self._closed = False

    def begin(self, job: Job) -> None:
        """Open a gang for jobs like this one, whose `gpus` are named, in a thread of its own, unless there is one."""
        with self._lock:
            if not self._closed and self._coming is None:
                self._coming = _Coming(job, self._open_gang)

    def take(self, job: Job) -> G | None:
        """The gang, if it is one for this job on its `gpus`; one of this shape that is of no use ends."""
        with self._lock:
            coming = self._coming
            if coming is None or coming.job.shape != job.shape:
                return None
            self._coming = None
        gang = coming.arrived()
        if gang is not None and not (coming.job.gpus == job.gpus and gang.alive()):
            gang.kill()
            return None
        return gang

    def gpus_for(self, job: Job) -> tuple[str, ...]:
        """The GPUs that a gang for this job was opened on; none where there is none."""
        with self._lock:
            coming = self._coming
        return coming.job.gpus or () if coming is not None and coming.job.shape == job.shape else ()

    def end(self, *, closing: bool = False) -> threading.Thread:
        """End the gang, if there is one, in the thread that is returned; no more come where all is `closing`."""
        with self._lock:
            self._closed |= closing
            coming, self._coming = self._coming, None
        ending = threading.Thread(target=coming.kill if coming else int, name="ahead ends", daemon=True)
        ending.start()
        return ending


def free_memory(gpus: Sequence[str]) -> float:
    """The smallest share of memory that is free on any of these GPUs, as nvidia-smi says; 0 where it does not."""
    query = ["--query-gpu=memory.free,memory.total", "--format=csv,noheader,nounits"]
    command = ["nvidia-smi", f"--id={','.join(gpus)}", *query]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        pairs = [line.split(",") for line in said.splitlines() if "," in line]
        return min((float(free) / float(total) for free, total in pairs), default=0.0)
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0.0
