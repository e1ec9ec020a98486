"""Ending processes that are ours: by pid and birth, or by the mark in their environment, never by name."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psutil

from engine.shared_memory import mapped_segments, remove_segments
from sweeper.gangs.process_identity import is_gone, this_machine, this_process

logger = logging.getLogger(__name__)

OWNER_VARIABLE = "SWEEPER_GANG_OF"

_GRACE_S = 3.0
_LOOK_S = 0.02  # between two looks at what a kill has left
_QUIET_LOOKS = 2  # a process that forks and exits between two readings of /proc escapes one look


def family(pid: int) -> list[psutil.Process]:
    """A process and all that descend from it, as far as they live."""
    try:
        head = psutil.Process(pid)
        return [head, *head.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end_job(process: subprocess.Popen[Any], known: Iterable[psutil.Process]) -> None:
    """End an mpiexec that leads a session, and every rank, also those in sessions of their own.

    mpiexec is asked first, since it takes its ranks along; whoever is left after a grace time of 3 s is killed.
    """
    members = {*known, *(family(process.pid) if process.poll() is None else ())}
    if process.poll() is not None:  # also since a moment ago, when its family could no longer be asked for
        members.update(_left_in_session(process.pid))
    _signal_session(process, signal.SIGTERM)
    _, alive = psutil.wait_procs([p for p in members if p.pid != process.pid], timeout=_GRACE_S)
    for member in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    _signal_session(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=_GRACE_S)
    process.wait()


def _left_in_session(leader: int) -> list[psutil.Process]:
    """Processes of a gang that its mpiexec, which led their session, has left behind when it died."""
    return [process for process in psutil.process_iter() if _session_of(process) == leader and _tag(process)]


def _session_of(process: psutil.Process) -> int | None:
    with contextlib.suppress(OSError):
        return os.getsid(process.pid)
    return None


def _signal_session(process: subprocess.Popen[Any], number: signal.Signals) -> None:
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

    def orphans() -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if _is_orphan(_tag(process), sweep_id)]

    if not (seen := orphans()):
        return 0
    segments = mapped_segments([process.pid for process in seen])
    ended = _kill_until_none(orphans)
    psutil.wait_procs(ended, timeout=_GRACE_S)
    remove_segments(segments)
    return len(ended)


def kill_gangs() -> None:
    """Kill all gangs below this process at once, with every process that they start meanwhile.

    Whoever started a gang still waits for it. What is left after a grace time of 3 s is logged.
    """
    ours = os.environ.get(OWNER_VARIABLE, "")  # where this process belongs to somebody's gang itself
    tags: set[str] = set()  # noted, since a process whose parent is killed is no longer below this one

    def members() -> list[psutil.Process]:
        tags.update({_tag(process) for process in family(os.getpid())[1:]} - {"", ours})
        return [process for process in psutil.process_iter() if _tag(process) in tags]

    _kill_until_none(members)


def _is_orphan(tag: str, sweep_id: str) -> bool:
    sweep, _, owner = tag.partition("|")
    process, _, host = owner.partition("|")
    return bool(host) and sweep == sweep_id and is_gone(host, process)


def _tag(process: psutil.Process) -> str:
    try:
        return process.environ().get(OWNER_VARIABLE, "")
    except (psutil.Error, OSError):
        return ""


def _kill_until_none(find: Callable[[], Sequence[psutil.Process]]) -> list[psutil.Process]:
    """Kill what `find` finds, and the sessions that it leads, until there is no more of it; all that was found.

    One look is not enough: a process may fork between the look and the kill.
    """
    found: set[psutil.Process] = set()
    until, quiet = time.monotonic() + _GRACE_S, 0
    while quiet < _QUIET_LOOKS:
        if alive := find():
            if time.monotonic() > until:
                pids = ", ".join(str(process.pid) for process in alive)
                logger.warning("cannot kill processes of gangs: %s; end them by hand", pids)
                break
            found.update(alive)
            _kill(alive)
        quiet = 0 if alive else quiet + 1
        time.sleep(_LOOK_S)
    return list(found)


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == process.pid and process.is_running():
                _kill_session(process.pid)
            process.kill()


def _kill_session(leader: int) -> None:
    """Kill the groups of a session, each in one call of the system that no fork escapes."""
    groups = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader:
                groups.add(os.getpgid(pid))
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
