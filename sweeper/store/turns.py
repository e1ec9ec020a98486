"""Whose turn it is to write to a SQLite file: among the threads of a process, and among processes.

SQLite lets whoever waits for its lock look for it ever more seldom, down to ten times a second; one that writes much
then gets it again and again, while others wait for many seconds. So threads of one process queue here, in the order in
which they came, and their process looks for the lock at a steady pace.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

BUSY_TIMEOUT_S = 30
_LOOK_S = 0.02  # 32 busy processes: the longest wait is a few seconds, and looking costs little
_BEGIN = "BEGIN IMMEDIATE"


class Turns:
    """A lock that is given to those who ask for it in the order in which they asked."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until all who came before are through, and keep others waiting for as long as the block lasts."""
        called = threading.Lock()
        called.acquire()
        with self._mutex:
            if self._taken:
                self._waiting.append(called)
            else:
                self._taken = True
                called.release()
        try:
            called.acquire()
        except BaseException:  # an interrupt
            self._leave(called)
            raise
        try:
            yield
        finally:
            self._pass_on()

    @property
    def waiting(self) -> int:
        """How many are waiting."""
        return len(self._waiting)

    def _leave(self, called: threading.Lock) -> None:
        with self._mutex:
            waits = called in self._waiting
            if waits:
                self._waiting.remove(called)
        if not waits:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


_mutex = threading.Lock()
_by_file: WeakValueDictionary[Path, Turns] = WeakValueDictionary()


def turns_of(file: Path) -> Turns:
    """The one queue that this process has for a file, however often it is opened."""
    with _mutex:
        return _by_file.setdefault(file.resolve(), Turns())


def begin_writing(connection: Connection) -> None:
    """Begin a transaction that has SQLite's lock for writing.

    Raises:
        OperationalError: others have had it all the time.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                driver.execute(_BEGIN)
                return
            except sqlite3.Error as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise OperationalError(_BEGIN, None, error) from error
            time.sleep(_LOOK_S)
    finally:
        driver.execute(f"PRAGMA busy_timeout = {1000 * BUSY_TIMEOUT_S}")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another has a lock that is needed."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
