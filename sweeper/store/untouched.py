"""SQLite files that are read and left untouched: no byte of them changes, and no file appears beside them.

SQLite's own read-only mode makes a -wal and a -shm file beside a database in WAL mode, and leaves them there. So each
connection first looks at what lies beside the file:

- Both are there, since somebody writes to it or was killed: SQLite reads with them, newest rows included.
- There is no -wal file, or an empty one: the file alone is complete. It is read as one that never changes
  (`immutable`). Whoever reads asks afterwards whether that was true (`Reading.is_current`), and reads again if not.
- There is a -wal file without a -shm file, as after copying: SQLite would have to make one. A copy is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sweeper.store.turns import BUSY_TIMEOUT_S

_IN_WAL_MODE = b"\2"
_COPY = "store.db"
_MODE_PLACE = 18  # the byte of a file's header that says how it is written


class Reading(sqlite3.Connection):
    """A connection that changes nothing."""

    _file: UntouchedFile | None = None
    _seen: _Beside | None = None

    def is_valid_while(self, file: UntouchedFile, seen: _Beside) -> None:
        """Note that what is read is valid only while the file and those beside it are as they were seen."""
        self._file, self._seen = file, seen

    def is_current(self) -> bool:
        """Whether what has been read since the connection was made is the file's content."""
        return self._file is None or self._file.look() == self._seen


class UntouchedFile:
    """A SQLite file whose connections leave it untouched."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()  # SQLite has the other files beside the one that a link leads to
        self._wal, self._shm = Path(f"{self._path}-wal"), Path(f"{self._path}-shm")
        self._mutex = threading.Lock()
        self._copy: tuple[_Beside, tempfile.TemporaryDirectory[str]] | None = None

    def connect(self) -> Reading:
        """A connection for one transaction: the next one may have to read the file in another way.

        Raises:
            sqlite3.Error: it cannot be opened.
        """
        try:
            return self._connect(self.look())
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror or str(error)) from error

    def _connect(self, seen: _Beside) -> Reading:
        if not self._is_in_wal_mode() or (seen.wal is not None and seen.has_shm):
            return _open(self._path, "mode=ro")
        if seen.wal and seen.wal.size:
            return self._of_copy(seen)
        connection = _open(self._path, "mode=ro&immutable=1")
        connection.is_valid_while(self, seen)
        return connection

    def look(self) -> _Beside:
        """The file and those beside it, as they are now."""
        file = _Stamp.of(self._path)
        return _Beside(file, _Stamp.of(self._wal), self._shm.exists())

    def _is_in_wal_mode(self) -> bool:
        with self._path.open("rb") as file:
            return file.read(_MODE_PLACE + 1)[_MODE_PLACE:] == _IN_WAL_MODE

    def _of_copy(self, seen: _Beside) -> Reading:
        """A connection to a copy of the file and its -wal file, which is kept for as long as both stay as seen."""
        with self._mutex:
            if self._copy is None or self._copy[0] != seen:
                self._copy = seen, self._copied()
            connection = _open(Path(self._copy[1].name, _COPY), "mode=ro")
        connection.is_valid_while(self, seen)
        return connection

    def _copied(self) -> tempfile.TemporaryDirectory[str]:
        folder = tempfile.TemporaryDirectory(prefix="sweeper-store-")
        shutil.copyfile(self._path, Path(folder.name, _COPY))
        shutil.copyfile(self._wal, Path(folder.name, f"{_COPY}-wal"))
        return folder


@dataclass(frozen=True)
class _Stamp:
    """What changes when a file is written or replaced."""

    size: int
    written_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> _Stamp | None:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return None
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass(frozen=True)
class _Beside:
    """A database's file, its -wal file, and whether it has a -shm file."""

    file: _Stamp | None
    wal: _Stamp | None
    has_shm: bool


def _open(path: Path, mode: str) -> Reading:
    connection: Any = sqlite3.connect(
        f"file:{quote(str(path))}?{mode}", uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, factory=Reading
    )
    assert isinstance(connection, Reading)
    return connection
