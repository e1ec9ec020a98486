"""Training time: a monotonic clock that can be stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from engine.phases import Now


class Clock:
    """Seconds of training since it was made, after `elapsed` seconds that had been trained before, by `now`."""

    def __init__(self, elapsed: float = 0.0, now: Now = time.perf_counter) -> None:
        self._now = now
        self._begun = now() - elapsed

    def seconds(self) -> float:
        """Training time so far, without pauses."""
        return self._now() - self._begun

    @contextmanager
    def paused(self) -> Iterator[float]:
        """Do the block off the clock; gives the seconds at which it stands."""
        at = self._now()
        try:
            yield at - self._begun
        finally:
            self._begun += self._now() - at
