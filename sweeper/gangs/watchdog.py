"""Ends a job that takes too long, or says nothing for too long; first its ranks write down where they are."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from engine.protocol import STACKS_SIGNAL

_LOOK_S = 0.2
_DUMP_S = 2.0  # what ranks get to write their stacks
_START_S = 60.0  # what ranks get to come up in, beside the limit


class Watchdog:
    """Watches one run of a job: `pids()` are its ranks as far as they are known, `kill()` ends it from any thread.

    `limit_s` is for the whole run, `stall_s` between two signs of life, with a minute more for the first one; None is
    no limit.
    """

    def __init__(
        self, limit_s: float | None, stall_s: float | None, pids: Callable[[], Sequence[int]], kill: Callable[[], None]
    ) -> None:
        self._limit_s, self._stall_s, self._pids, self._kill = limit_s, stall_s, pids, kill
        self._begun = time.monotonic()
        self._alive_at = self._begun + _START_S
        self.reason = ""

    def alive(self) -> None:
        """Count from now on."""
        self._alive_at = time.monotonic()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(_LOOK_S):
            self.reason = self._problem()
            if self.reason:
                for pid in self._pids():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, STACKS_SIGNAL)
                if over.wait(_DUMP_S):
                    self.reason = ""  # it came to its end just then
                    return
                self._kill()
                return

    def _problem(self) -> str:
        now = time.monotonic()
        if self._limit_s is not None and now - self._begun > self._limit_s:
            return f"took longer than limits.trial_seconds, {self._limit_s:g}"
        if self._stall_s is not None and now - self._alive_at > self._stall_s:
            return f"reported nothing for limits.stall_seconds, {self._stall_s:g}"
        return ""
