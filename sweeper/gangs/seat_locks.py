"""Which cores and GPUs of this machine a gang has for itself, told between all sweeps of the machine by locked files.

How many seats are free, of those that one sweep may use, `sweeper.gangs.seats` counts.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import stat
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sweeper.gangs.machine import gpu_uuids, local_gpus, usable_cpus
from sweeper.gangs.seats import Seats

VARIABLE = "SWEEPER_SEATS"
_FOLDER = "/tmp/sweeper-seats"  # the same for all users, whatever their TMPDIR
_ANYONE = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_NOTE_BYTES = 32


@dataclass(frozen=True)
class TakenSeats:
    """What a gang was given: cores by number, GPUs by name (None: whichever it sees).

    `locked` are the keys of those that nobody else is given; `shared` where there are too few, and the gang sits where
    others do, a `guest` where these are of other sweeps. `visits` are the open files by which these can tell.
    """

    cores: tuple[int, ...] = ()
    gpus: tuple[str, ...] | None = None
    locked: tuple[str, ...] = ()
    shared: bool = False
    visits: tuple[int, ...] = ()
    guest: bool = False


class _Acquired(NamedTuple):
    """Keys that were locked; none where there are too few, since `others` have them or we do."""

    keys: tuple[str, ...] = ()
    too_few: bool = False
    others: bool = False


class SeatLocks:
    """Hands out cores and GPUs, each to one gang at a time; safe for several threads.

    Each is a locked file in `folder` (SWEEPER_SEATS, else one for all users), which all sweeps of a machine share. The
    lock goes with this process, however that ends. `keys` name the files of GPUs that are not called the same by
    everyone. Without `gpus` (None) gangs see whatever is visible to them.
    """

    def __init__(
        self,
        cores: Sequence[int] = (),
        gpus: Sequence[str] | None = None,
        keys: dict[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._cores, self._gpus, self._keys = list(cores), None if gpus is None else list(gpus), keys or {}
        self._folder = folder or Path(os.environ.get(VARIABLE, _FOLDER))
        self._locks: dict[str, int] = {}
        self._lock = threading.Lock()

    @classmethod
    def of_this_machine(cls) -> SeatLocks:
        """The cores and GPUs that this process may use.

        No cores in a container with a quota below their number: its neighbours would be bound to the very same.
        """
        cores = sorted(os.sched_getaffinity(0))
        gpus = local_gpus()
        return cls(cores if usable_cpus() >= len(cores) else [], gpus, gpu_uuids(gpus))

    def take(self, need: Seats, *, share: bool = False, first: Sequence[str] = ()) -> TakenSeats | None:
        """Seats for a gang; None where others of this machine have too many of them now, unless it may `share` them.

        GPUs that are named `first` are preferred.

        Where this process itself has given out as much as there is, a gang shares as well. It then has no cores, sits
        anywhere, and has the first GPUs, whoever else has them. So too, but for the word of it, where nothing can be
        locked.
        """
        with self._lock:
            cores = self._acquire([self._key(core) for core in self._cores], need.cpus)
            gpus = self._acquire([self._key(gpu) for gpu in self._preferring(first)], need.gpus)
            locked = (*cores.keys, *gpus.keys)
            if (cores.others or gpus.others) and not share:
                self._release(locked)
                return None
        shared = cores.too_few or gpus.too_few
        numbers = tuple(core for core in self._cores if self._key(core) in locked)
        names = None
        if self._gpus is not None:
            names = tuple([gpu for gpu in self._gpus if self._key(gpu) in locked] or self._gpus[: need.gpus])
        visits = self._visit(names or ()) if shared else ()
        return TakenSeats(numbers, names, locked, shared, visits, guest=cores.others or gpus.others)

    def held_gpus(self) -> list[str]:
        """The GPUs that gangs of this process have, by name."""
        with self._lock:
            return [gpu for gpu in self._gpus or () if self._key(gpu) in self._locks]

    def _preferring(self, first: Sequence[str]) -> list[str]:
        return sorted(self._gpus or (), key=lambda gpu: gpu not in first)

    def give_back(self, taken: TakenSeats) -> None:
        """What was taken."""
        with self._lock:
            self._release(taken.locked)
        for file in taken.visits:
            _note_time(file)  # those who have it may look only later
            os.close(file)

    def was_shared(self, taken: TakenSeats, since: float) -> bool:
        """Whether somebody else has sat on these seats since then, a time of `time.time`."""
        for key in taken.locked:
            with contextlib.suppress(OSError), (self._folder / f"{key}.shared").open() as file:
                if _noted_time(file.fileno()) >= since or not _locked(file.fileno(), fcntl.LOCK_EX):
                    return True
        return False

    def _visit(self, gpus: Sequence[str]) -> tuple[int, ...]:
        """Files held as a sign that a gang sits on all cores and these GPUs, as far as that can be."""
        files: list[int] = []
        for key in (*map(self._key, self._cores), *map(self._key, gpus)):
            with contextlib.suppress(OSError):
                files.append(_opened(self._folder, f"{key}.shared"))
                fcntl.flock(files[-1], fcntl.LOCK_SH)
                _note_time(files[-1])
        return tuple(files)

    def holders(self) -> list[int]:
        """The other processes that have cores or GPUs of these now, as they have noted it."""
        found: set[int] = set()
        for key in map(self._key, (*self._cores, *(self._gpus or ()))):
            if key in self._locks:
                continue
            with contextlib.suppress(OSError, ValueError), (self._folder / f"{key}.lock").open() as file:
                if not _locked(file.fileno(), fcntl.LOCK_SH):
                    found.add(int(file.read(_NOTE_BYTES)))
        return sorted(found)

    def _acquire(self, keys: Sequence[str], count: int) -> _Acquired:
        """Lock so many, or none."""
        free = [key for key in keys if key not in self._locks]
        if len(free) < count:
            return _Acquired(too_few=bool(keys))
        taken: list[str] = []
        others = False
        for key in free:
            if len(taken) == count:
                break
            try:
                file = _opened(self._folder, f"{key}.lock")
            except OSError:
                continue
            if _locked(file, fcntl.LOCK_EX):
                os.ftruncate(file, 0)
                os.pwrite(file, str(os.getpid()).encode(), 0)
                self._locks[key] = file
                taken.append(key)
            else:
                others = True
                os.close(file)
        if len(taken) < count:
            self._release(taken)
            return _Acquired(too_few=others, others=others)
        return _Acquired(tuple(taken))

    def _release(self, keys: Sequence[str]) -> None:
        for key in keys:
            os.close(self._locks.pop(key))

    def _key(self, name: int | str) -> str:
        if isinstance(name, int):
            return f"core-{name}"
        return "gpu-" + re.sub(r"[^\w-]", "_", self._keys.get(name, name))


def _locked(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _note_time(file: int) -> None:
    """Write down that it is now. A file's own time is kept by a coarser clock, which lags behind `time.time`."""
    os.pwrite(file, f"{time.time_ns():0{_NOTE_BYTES}}".encode(), 0)


def _noted_time(file: int) -> float:
    """What was written last, as `time.time` gives it; before all times where nothing was."""
    noted = os.pread(file, _NOTE_BYTES, 0)
    return int(noted) / 1e9 if noted.isdigit() else -math.inf


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
