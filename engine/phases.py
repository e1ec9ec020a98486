"""What time went where: seconds by phase, added up over all steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Phases:
    """A stopwatch a phase; totals are of this rank."""

    def __init__(self) -> None:
        self.totals: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of the block to phase `name`."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.totals[name] = self.totals.get(name, 0.0) + time.perf_counter() - begun

    def reset(self) -> None:
        """Forget what was measured, as after warm-up."""
        self.totals.clear()
