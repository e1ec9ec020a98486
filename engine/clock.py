"""Training time: a monotonic clock that can be stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds of training since it was made, after `elapsed` seconds that had been trained before."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._begun = time.perf_counter() - elapsed

    def seconds(self) -> float:
        """Training time so far, without pauses."""
        return time.perf_counter() - self._begun

    @contextmanager
    def paused(self) -> Iterator[float]:
        """Do the block off the clock; gives the seconds at which it stands."""
        at = time.perf_counter()
        try:
            yield at - self._begun
        finally:
            self._begun += time.perf_counter() - at
