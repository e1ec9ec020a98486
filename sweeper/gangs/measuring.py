"""This machine measured for the choice of algorithms, by ranks that compute parts of layers and move tensors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from engine.channel_parallel.machine import Collective, Link, Part
from engine.cores import VARIABLE as CORES_VARIABLE
from sweeper.errors import LaunchError
from sweeper.gangs.launcher import Launcher, find_launcher
from sweeper.gangs.processes import end_job
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Seats
from sweeper.gangs.worlds import check_one_world

_PROGRAM = ("-m", "mpi4py", "-m", "engine.channel_parallel.measure")
_LONGEST_S = 1800.0  # large batches take minutes
_REMEDY = "give --latency, --bandwidth and --speed, or see what `sweeper doctor` says of MPI"


@dataclass(frozen=True)
class Measured:
    """Seconds that parts take a rank, and the collectives among all ranks, where they were asked for."""

    parts: dict[Part, float]
    links: dict[Collective, Link]


def measure(parts: Sequence[Part], workers: int, *, links: bool) -> Measured:
    """Measure with so many ranks on this host, each bound to a core that nobody else's gang has.

    Raises:
        LaunchError: there is no mpiexec that fits, the cores are taken, or a rank fails.
    """
    launcher = find_launcher()
    check_one_world()
    seats = SeatLocks.of_this_machine()
    taken = seats.take(Seats(workers, 0))
    if taken is None:
        raise LaunchError(
            f"{workers} cores to measure on are not free: another sweep has them",
            "wait for its end, or give --latency, --bandwidth and --speed",
        )
    try:
        bound = {CORES_VARIABLE: ",".join(map(str, taken.cores))} if taken.cores else {}
        asked = json.dumps({"parts": [asdict(part) for part in parts], "collectives": links})
        told = _told(launcher, workers, asked, bound)
    finally:
        seats.give_back(taken)
    try:
        found = json.loads(told)
    except ValueError:
        raise LaunchError(f"the ranks that measure this machine printed {told[:80]!r}", _REMEDY) from None
    return Measured(
        dict(zip(parts, found["parts"], strict=True)),
        {one: Link(link["ranks"], tuple(map(tuple, link["points"]))) for one, link in found["links"].items()},
    )


def _told(launcher: Launcher, workers: int, asked: str, variables: dict[str, str]) -> str:
    """What rank 0 prints; the job is ended whatever happens here, such as an interrupt."""
    job = subprocess.Popen(
        launcher.command(workers, [sys.executable, *_PROGRAM]),
        env={**launcher.environment(os.environ, 1), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = job.communicate(asked, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        end_job(job, [])
        raise LaunchError(f"the ranks that measure this machine took more than {_LONGEST_S:.0f} s", _REMEDY) from None
    except BaseException:
        end_job(job, [])
        raise
    if job.returncode:
        reason = _last_words(err) or f"exit code {job.returncode}"
        raise LaunchError(f"the ranks that measure this machine failed: {reason}", _REMEDY)
    return out


def _last_words(said: str) -> str:
    """The last error that Python tells of, else the last line; "" where there is none."""
    errors = re.findall(r"^[\w.]*(?:Error|Exception)\b.*", said, flags=re.MULTILINE)
    return next(reversed(errors or said.strip().splitlines()), "")
