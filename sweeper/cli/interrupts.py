"""Ctrl-C and SIGTERM: the first one ends the work in order, further ones do not break into that."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on the first interrupt or termination in the block, and ignore any that follow."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
