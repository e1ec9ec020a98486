"""Cores that gangs have for themselves, also from the gangs of other sweeps on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from sweeper.gangs.machine import usable_cpus

_FOLDER = Path("/tmp/sweeper-cores")  # the same for all users, whatever their TMPDIR
_ANYONE = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO


class CorePool:
    """Hands out `cores`, each to one gang at a time; safe for several threads.

    A core is a locked file in `folder`, which all sweeps of a machine share. The lock goes with this process, however
    that ends.
    """

    def __init__(self, cores: Sequence[int], folder: Path = _FOLDER) -> None:
        self._cores, self._folder = list(cores), folder
        self._locks: dict[int, int] = {}
        self._lock = threading.Lock()

    def take(self, count: int) -> tuple[int, ...]:
        """So many cores; none where fewer are left, or where they cannot be locked, and the gang sits anywhere."""
        with self._lock:
            taken: list[int] = []
            for core in self._cores:
                if len(taken) < count and core not in self._locks and self._acquire(core):
                    taken.append(core)
            if len(taken) < count:
                self._release(taken)
                return ()
            return tuple(taken)

    def give_back(self, cores: Sequence[int]) -> None:
        """Cores that were taken."""
        with self._lock:
            self._release(cores)

    def _acquire(self, core: int) -> bool:
        try:
            file = _opened(self._folder, f"{core}.lock")
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._locks[core] = file
        return True

    def _release(self, cores: Sequence[int]) -> None:
        for core in cores:
            os.close(self._locks.pop(core))


def usable_cores() -> list[int]:
    """The cores that gangs may be bound to: those that this process may use.

    None in a container with a quota below that: its neighbours would be bound to the very same.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores if usable_cpus() >= len(cores) else []


def _opened(folder: Path, name: str) -> int:
    """A file that users share; raises OSError where it is none."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(_ANYONE | stat.S_ISVTX)
    path, options = folder / name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, options)
    except FileNotFoundError:
        file = os.open(path, options | os.O_CREAT, 0o666)
        with contextlib.suppress(OSError):
            os.fchmod(file, 0o666)
        return file
