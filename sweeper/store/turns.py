"""Whose turn it is: the threads of a process write to a SQLite file one after another, in the order in which they came.

SQLite lets whoever waits for its lock look for it now and then, and who comes later may get it first. So threads of one
process queue here, and each process waits in SQLite for one of them only.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary


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
