"""Which process this is, in words that others can look up: on the same machine at once, elsewhere by its lease."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import psutil

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = "/proc/self/ns/pid"


def this_machine() -> str:
    """The host by name, and by its boot and its space of process numbers, of which containers have their own."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts += [_BOOT.read_text().strip(), os.readlink(_NAMESPACE)]
    return " ".join(parts)


def this_process() -> str:
    """Its number and the moment of its start: numbers are used again."""
    return _described(psutil.Process())


def is_gone(host: str, process: str) -> bool:
    """Whether the process is known to have ended; of another machine nothing is known."""
    if host != this_machine():
        return False
    try:
        found = psutil.Process(int(process.partition(" ")[0]))
        return _described(found) != process or found.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _described(process: psutil.Process) -> str:
    return f"{process.pid} {process.create_time():.2f}"
