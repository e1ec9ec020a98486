"""Gangs that come up before their seats are free, beside those that still train."""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from engine.errors import ClearError
from sweeper.gangs.base import Job

logger = logging.getLogger(__name__)


class PreparingGang(Protocol):
    """What a gang that is opened ahead of its time can do besides; see `sweeper.gangs.gang.Gang`."""

    def prepare(self, job: Job) -> None:
        """Have ready what the job needs, without training it."""

    def alive(self) -> bool:
        """Whether the gang can serve a job."""

    def close(self) -> None:
        """End the gang."""


G = TypeVar("G", bound=PreparingGang)


class Ahead(Generic[G]):
    """At most one gang, which is opened for the jobs of a shape that will come next; safe for several threads.

    It holds no seats. Its GPUs are those of gangs of the same executor: it takes them over when these have gone.
    """

    def __init__(self, open_gang: Callable[[Job], G]) -> None:
        self._open_gang = open_gang
        self._lock = threading.Lock()
        self._job: Job | None = None
        self._gang: G | None = None
        self._opening: threading.Thread | None = None
        self._closed = False

    def begin(self, job: Job) -> None:
        """Open a gang for jobs like this one, whose `gpus` are named, in a thread of its own, unless there is one."""
        with self._lock:
            if self._closed or self._job is not None:
                return
            self._job = job
            self._opening = threading.Thread(target=self._open, args=(job,), name=f"ahead {job.trial_id}", daemon=True)
            self._opening.start()

    def take(self, job: Job) -> G | None:
        """The gang, if it is one for this job on its `gpus`; one of this shape that is of no use ends."""
        with self._lock:
            if self._job is None or self._job.shape != job.shape:
                return None
            opening, wanted = self._opening, self._job.gpus == job.gpus
        if opening:
            opening.join()
        gang = self._release()
        if gang is not None and not (wanted and gang.alive()):
            gang.close()
            return None
        return gang

    def gpus_for(self, job: Job) -> tuple[str, ...]:
        """The GPUs that a gang for this job was opened on; none where there is none."""
        with self._lock:
            return self._job.gpus or () if self._job is not None and self._job.shape == job.shape else ()

    def end(self, *, closing: bool = False) -> None:
        """End the gang, if there is one; no more come where all is `closing`."""
        with self._lock:
            self._closed |= closing
            opening = self._opening
        if opening:
            opening.join()
        if (gang := self._release()) is not None:
            gang.close()

    def _release(self) -> G | None:
        with self._lock:
            gang, self._gang, self._job, self._opening = self._gang, None, None, None
            return gang

    def _open(self, job: Job) -> None:
        try:
            gang = self._open_gang(job)
            gang.prepare(job)
        except (ClearError, OSError) as error:
            logger.debug("no gang of %d workers comes up ahead: %s", job.workers, error)
            return
        with self._lock:
            self._gang = gang


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
