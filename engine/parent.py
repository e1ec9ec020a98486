"""Ranks that end with whoever started them."""

from __future__ import annotations

import ctypes
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def die_with_parent() -> None:
    """Have this process killed when its parent ends, however that comes about; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
