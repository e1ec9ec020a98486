"""The executor in a SLURM allocation: each gang is a job step on one node, with exactly its cores and GPUs."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

from sweeper.errors import LaunchError
from sweeper.gangs.base import Job
from sweeper.gangs.seats import Capacity
from sweeper.gangs.slurm.node_seats import NodeSeats
from sweeper.gangs.slurm.own_job import SlurmJob
from sweeper.gangs.slurm.step import StepGang
from sweeper.gangs.streaming import GangHandle, StreamingExecutor

logger = logging.getLogger(__name__)

_PATIENCE_S = 10.0  # before we say that a step waits


def own_job() -> SlurmJob:
    """The job whose nodes the executor uses.

    Raises:
        LaunchError: this process belongs to none.
    """
    job = SlurmJob.ours()
    if job is None:
        raise LaunchError(
            "--executor slurm: this is not a SLURM allocation, in which gangs could run",
            "get one, for example with `salloc --nodes=1 --cpus-per-task=8` and then `sweeper run`; or write a batch "
            "file with `sweeper slurm` and submit it with `sbatch`",
        )
    return job


class SlurmExecutor(StreamingExecutor):
    """Runs gangs in the SLURM allocation that this process belongs to.

    SLURM keeps each step to its cores and GPUs, as far as the site has it do so. Other steps of the allocation are
    waited for, whatever `share` says; see `StreamingExecutor`.

    Raises:
        LaunchError: this process is in no allocation, or SLURM does not say what the allocation has.
    """

    def __init__(self, *, share: bool = False) -> None:
        super().__init__(share=share)
        self._job = own_job()
        self._seats = NodeSeats(self._job.nodes())
        self._opening: dict[str, StepGang] = {}
        self._lock = threading.Lock()

    @property
    def takes_seats(self) -> bool:
        """SLURM gives them out, when a step begins."""
        return False

    def capacity(self) -> Capacity:
        """What the allocation has on each of its nodes."""
        return self._seats.capacity

    def open_gang(self, job: Job) -> GangHandle:
        """A job step on a node with room for it."""
        holder = object()
        node = self._seats.take(holder, job.need, lambda: self.is_wanted(job))
        if node is None:
            raise LaunchError(f"trial {job.trial_id} is not wanted any more")
        try:
            step = StepGang(self._job.id, node, job.need, lambda: self._seats.give_back(holder))
        except BaseException:
            self._seats.give_back(holder)
            raise
        try:
            with self._known_as_opening(job, step), _waiting_told(job, node):
                step.open(job)
        except BaseException:
            step.close()
            raise
        return step

    def stop(self, trial_id: str) -> None:
        """See `Executor.stop`; a step that waits for its seats waits no more."""
        super().stop(trial_id)
        with self._lock:
            step = self._opening.get(trial_id)
        if step:
            step.close()

    def abandon_opening(self) -> None:
        """See `StreamingExecutor.abandon_opening`."""
        with self._lock:
            steps = list(self._opening.values())
        for step in steps:
            step.close()

    @contextlib.contextmanager
    def _known_as_opening(self, job: Job, step: StepGang) -> Iterator[None]:
        """So that others can end a step which may wait for long."""
        with self._lock:
            self._opening[job.trial_id] = step
        try:
            if not self.is_wanted(job):
                raise LaunchError(f"trial {job.trial_id} is not wanted any more")
            yield
        finally:
            with self._lock:
                del self._opening[job.trial_id]


@contextlib.contextmanager
def _waiting_told(job: Job, node: str) -> Iterator[None]:
    """Say so if a step does not begin soon."""
    words = "trial %s waits for %d cores and %d GPUs on node %s: other job steps have them, or SLURM is busy"
    timer = threading.Timer(_PATIENCE_S, logger.warning, [words, job.trial_id, job.need.cpus, job.need.gpus, node])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
