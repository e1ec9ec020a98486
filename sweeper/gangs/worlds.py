"""Whether an mpiexec's ranks know of each other: those of another MPI than its own each come up alone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from sweeper.errors import LaunchError
from sweeper.gangs.launcher import Launcher, find_launcher, wrong_launcher
from sweeper.gangs.processes import end_job

RANKS = 2
_ONE_WORLD = f"[{', '.join([str(RANKS)] * RANKS)}"  # what the ranks of one world see
_TIMEOUT_S = 60
# Each rank 0 writes a line, at once: the sizes that its ranks see, and the MPI's name.
_WORLD = """
import os
from mpi4py import MPI
sizes = MPI.COMM_WORLD.gather(MPI.COMM_WORLD.size)
if sizes:
    library = " ".join(MPI.Get_library_version().splitlines()[0].replace(chr(0), "").split())
    os.write(1, f"{sizes} {library}\\n".encode())
"""


@dataclass(frozen=True)
class Worlds:
    """What became of two ranks: their exit code, in how many worlds they came up, the MPI's name, and last words."""

    code: int
    count: int
    is_one: bool
    library: str
    last_words: str


def worlds_of(launcher: Launcher) -> Worlds:
    """Start two ranks that only look around; takes a tenth of a second.

    Raises:
        OSError, subprocess.TimeoutExpired: they cannot be started, or do not end.
    """
    command = launcher.command(RANKS, [sys.executable, "-m", "mpi4py", "-c", _WORLD])
    said = _run_job(command, launcher.environment(os.environ, 1))
    found = [line.partition("] ") for line in said.stdout.splitlines() if line.startswith("[")]
    lines = (said.stderr or said.stdout).strip().splitlines() or [f"exit code {said.returncode}"]
    library = found[0][2] if found else ""
    return Worlds(said.returncode, len(found), [sizes for sizes, _, _ in found] == [_ONE_WORLD], library, lines[-1])


def check_one_world() -> None:
    """See that ranks know of each other, before trials of one worker run for long that would not show it.

    Raises:
        LaunchError: they do not; what goes wrong otherwise is left to the gangs, which tell it with their trial.
    """
    launcher = find_launcher()
    try:
        found = worlds_of(launcher)
    except (OSError, subprocess.TimeoutExpired):
        return
    if found.code == 0 and found.count > 1:
        raise LaunchError(*wrong_launcher(launcher.mpiexec, RANKS, 1))


def _run_job(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run an MPI job to its end, or end it with all its ranks when it takes too long."""
    job = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = job.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        end_job(job, [])
        raise
    return subprocess.CompletedProcess(command, job.returncode, out, err)
