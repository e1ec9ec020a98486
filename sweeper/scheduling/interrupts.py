"""Ctrl-C, SIGTERM and a closed terminal: the first one ends the work in order, a further one makes that go faster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Handles interrupts while its block runs, if that is in the main thread; elsewhere none is seen.

    At first the first one raises KeyboardInterrupt where it comes, and further ones are ignored. After `defer` none is
    raised any more: whoever works then asks for their `count` at moments when nothing is half done.
    """

    def __init__(self) -> None:
        self._count, self._deferred = 0, False
        self._hurry: Callable[[], object] = lambda: None
        self._hurry_at = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is not threading.main_thread():
            return self  # Python handles signals in its main thread alone
        for number in _SIGNALS:
            # A hang-up that is ignored already is so by nohup's wish. A SIGINT is ignored in what a script starts in
            # the background, and whoever sends one to this process all the same means it.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def defer(self, hurry: Callable[[], object], at: int) -> None:
        """Raise nothing from now on; the interrupt of this number, and each one after it, calls `hurry` at once."""
        self._deferred, self._hurry, self._hurry_at = True, hurry, at

    def count(self) -> int:
        """How many interrupts have come."""
        return self._count

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1 and not self._deferred:
            raise KeyboardInterrupt
        if self._deferred and self._count >= self._hurry_at:
            self._hurry()
