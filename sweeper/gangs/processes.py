"""Ending processes that are ours: by pid and birth, or by the mark in their environment, never by name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable

import psutil

from engine.shared_memory import mapped_segments, remove_segments
from sweeper.gangs.process_identity import is_gone, this_machine, this_process

OWNER_VARIABLE = "SWEEPER_GANG_OF"

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


def owner_tag(sweep_id: str) -> str:
    """For the environment of a gang: the sweep, and the process that looks after the gang."""
    return f"{sweep_id}|{this_process()}|{this_machine()}"


def end_orphans(sweep_id: str) -> int:
    """End the processes of this sweep's gangs on this machine that nobody looks after any more; how many.

    Others' processes, whose environment cannot be read, are left alone.
    """
    found = [process for process in psutil.process_iter() if _is_orphan(_tag(process), sweep_id)]
    segments = mapped_segments([process.pid for process in found])
    _kill(found)
    psutil.wait_procs(found, timeout=_GRACE_S)
    remove_segments(segments)
    return len(found)


def kill_gangs() -> None:
    """End all gangs below this process at once, without a word to them; who started them waits for them still."""
    ours = os.environ.get(OWNER_VARIABLE, "")  # where this process belongs to somebody's gang itself
    _kill([process for process in family(os.getpid())[1:] if _tag(process) not in ("", ours)])


def _is_orphan(tag: str, sweep_id: str) -> bool:
    sweep, _, owner = tag.partition("|")
    process, _, host = owner.partition("|")
    return bool(host) and sweep == sweep_id and is_gone(host, process)


def _tag(process: psutil.Process) -> str:
    try:
        return process.environ().get(OWNER_VARIABLE, "")
    except (psutil.Error, OSError):
        return ""


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
