"""Which process this is, in words that others can look up: on the same machine at once, elsewhere by its lease."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = "/proc/self/ns/pid"
_START, _STATE = 19, 0  # fields of /proc/PID/stat behind the command's name
_ENDED = ("Z", "X")


def this_machine() -> str:
    """The host by name, and by its boot and its space of process numbers, of which containers have their own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts += [_BOOT.read_text().strip(), os.readlink(_NAMESPACE)]
    return " ".join(parts)


def this_process() -> str:
    """Its number, and its start in ticks since the boot, which no change of the clock moves: numbers are used again."""
    fields = _fields(os.getpid())
    return f"{os.getpid()} {fields[_START]}" if fields else str(os.getpid())


def is_gone(host: str, process: str) -> bool:
    """Whether the process is known to have ended; of another machine, or a process out of sight, nothing is known."""
    if host != this_machine():
        return False
    pid, _, start = process.partition(" ")
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    fields = _fields(int(pid))
    return bool(fields and start) and (fields[_START] != start or fields[_STATE] in _ENDED)


def _fields(pid: int) -> list[str]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return stat.rpartition(")")[2].split()
