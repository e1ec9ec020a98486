"""Ending processes that are ours: by pid and birth, never by name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable

import psutil

_GRACE_S = 3.0


def family(pid: int) -> list[psutil.Process]:
    """A process and all that descend from it, as far as they live."""
    try:
        head = psutil.Process(pid)
        return [head, *head.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end_job(process: subprocess.Popen[str], known: Iterable[psutil.Process]) -> None:
    """End an mpiexec that leads a session, and every rank, also those in sessions of their own.

    mpiexec is asked first, since it takes its ranks along; whoever is left after a grace time of 3 s is killed.
    """
    members = {*(family(process.pid) if process.poll() is None else ()), *known}
    _signal_session(process, signal.SIGTERM)
    _, alive = psutil.wait_procs([p for p in members if p.pid != process.pid], timeout=_GRACE_S)
    for member in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    _signal_session(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=_GRACE_S)
    process.wait()


def _signal_session(process: subprocess.Popen[str], number: signal.Signals) -> None:
    # Once it has been waited for, its number may be somebody else's.
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
