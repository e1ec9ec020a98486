"""A job step with a gang in it, as the executor sees it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from sweeper.errors import LaunchError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.calls.near import CalledProcess
from sweeper.gangs.seats import Seats
from sweeper.gangs.streaming import events_told

_OPEN_S = 60.0  # for the MPI job, once the step has begun
_ANSWER_S = 30.0
_CLOSE_S = 30.0  # an idle gang gets 10 s to leave by itself, its processes some more to die
_LEAVE_S = 5.0
_END_S = 30.0  # SLURM kills what is left of a step within KillWait
# Everything else that SLURM has put into our environment is about this process, and srun would take it for options.
_OF_THE_SITE = ("SLURM_CONF", "SLURM_JWT")


class StepGang:
    """A gang on a node of a SLURM job, in a step of its own; `on_end` is called once it has gone.

    Raises:
        LaunchError: srun cannot be started.
    """

    def __init__(self, slurm_job: str, node: str, need: Seats, on_end: Callable[[], object]) -> None:
        self._on_end, self._is_up = on_end, False
        self._closing, self._closed = threading.Lock(), False
        descriptor, log = tempfile.mkstemp(prefix="sweeper-srun-")
        os.close(descriptor)
        self._log = Path(log)
        name, remedy = f"the job step on node {node}", f"see what SLURM says: `scontrol show job {slurm_job}`"
        try:
            command = srun(slurm_job, node, need)
            self._process = CalledProcess(command, _own_environment(), self._log, name=name, remedy=remedy)
        except OSError as error:
            self._log.unlink()
            raise LaunchError(f"srun cannot be started ({error})", "run this where SLURM's commands are") from None

    def open(self, job: Job) -> None:
        """Wait until SLURM starts the step, which may wait for seats itself, and open the gang there.

        Raises:
            LaunchError: SLURM refuses the step, the gang cannot be started, or it was closed meanwhile.
        """
        self._process.until_ready(None)
        self._is_up = True
        self._process.call("open", asdict(job), limit_s=_OPEN_S)

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; a step that ends is a failure of its job."""
        return events_told(job, self._process.stream("run", asdict(job)))

    def alive(self) -> bool:
        """Whether the step and the MPI job can serve another job."""
        with contextlib.suppress(LaunchError):
            return bool(self._process.call("alive", limit_s=_ANSWER_S))
        return False

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        with contextlib.suppress(LaunchError):  # its end is on its way
            self._process.call("stop", trial_id, limit_s=_ANSWER_S)

    def close(self) -> None:
        """End the gang, then the step, whether it has begun or still waits; once."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            try:
                self._end()
            finally:
                self._log.unlink(missing_ok=True)
                self._on_end()

    def _end(self) -> None:
        if self._is_up:
            with contextlib.suppress(LaunchError):
                self._process.call("close", limit_s=_CLOSE_S)
            self._process.leave(_LEAVE_S)
        if self._process.process.poll() is None:
            self._process.process.terminate()  # at which srun has SLURM kill the step, or waits for it no more
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.process.wait(_END_S)
        self._process.process.kill()
        self._process.leave(_LEAVE_S)
        self._process.join()


def srun(slurm_job: str, node: str, need: Seats) -> list[str]:
    """The words that start the far end of a gang on a node, with these seats and no more."""
    return [
        "srun",
        f"--jobid={slurm_job}",
        "--job-name=sweeper-gang",
        "--nodes=1",
        "--ntasks=1",
        f"--nodelist={node}",
        f"--cpus-per-task={need.cpus}",
        "--exact",
        f"--gres=gpu:{need.gpus}" if need.gpus else "--gres=none",
        "--mem=0",  # all that the job has on the node, together with its other steps
        "--mpi=none",  # the step starts an mpiexec of its own
        "--unbuffered",
        sys.executable,
        "-m",
        "sweeper.gangs.slurm.far_end",
    ]


def _own_environment() -> dict[str, str]:
    foreign = ("SLURM_", "SRUN_")
    return {name: value for name, value in os.environ.items() if name in _OF_THE_SITE or not name.startswith(foreign)}
