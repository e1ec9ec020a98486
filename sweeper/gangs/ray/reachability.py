"""Whether a rank on each of two hosts can speak with the other, tried by a bare MPI job before gangs need it."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sweeper.gangs.base import Job
from sweeper.gangs.hosts import Hosts
from sweeper.gangs.mpi_job import MpiJob, tail

MEET_S = 60.0  # with a cold start of Python and MPI, as long as a gang has for it
_MET = "all have met"
_PROGRAM = f"""
import os
from engine.parent import die_with_parent
die_with_parent()
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size and MPI.COMM_WORLD.rank == 0:
    os.write(1, b"{_MET}\\n")
"""


def meeting_job() -> Job:
    """What is started: a rank on each of two hosts, which takes no seats."""
    return Job("preflight", 1, workers=2, cpus_per_worker=1, gpus_per_worker=0, config={}, log="")


def meeting_problem(job: Job, hosts: Hosts) -> str:
    """What keeps ranks on these hosts from a barrier and an all-reduce, in words; "" if they do both in `MEET_S`.

    Raises:
        LaunchError: this host's mpiexec cannot start ranks on others.
        LostHostError: the other host does not answer.
    """
    handle, name = tempfile.mkstemp(prefix="sweeper-meeting-", suffix=".log")
    os.close(handle)
    try:
        mpi = MpiJob(replace(job, log=name), [sys.executable, "-m", "mpi4py", "-c", _PROGRAM], hosts=hosts)
        return _problem(mpi)
    finally:
        Path(name).unlink()


def _problem(mpi: MpiJob) -> str:
    overdue = threading.Event()
    timer = threading.Timer(MEET_S, _end_as_overdue(mpi, overdue))
    timer.start()
    try:
        said = list(mpi.lines())
        if _MET in said:
            return ""
        if overdue.is_set():
            return f"no answer within {MEET_S:g} s"
        words = [line for line in (*said, *tail(mpi.log).splitlines()) if line.strip()]
        return words[-1].strip() if words else mpi.death([])[1]
    finally:
        timer.cancel()
        mpi.kill()


def _end_as_overdue(mpi: MpiJob, overdue: threading.Event) -> Callable[[], None]:
    def end() -> None:
        overdue.set()
        with suppress(OSError):
            mpi.end()

    return end
