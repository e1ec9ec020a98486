"""Worker counts whose gangs fail again and again before any training: set aside, and the rest goes on."""

from __future__ import annotations

import logging
from collections import Counter

from sweeper.errors import LaunchError

logger = logging.getLogger(__name__)

MOST_IN_A_ROW = 10


class Slots:
    """Counts attempts that failed before their training began, by worker count."""

    def __init__(self) -> None:
        self._in_a_row: Counter[int] = Counter()
        self._reasons: dict[int, str] = {}

    def worked(self, workers: int) -> None:
        """A gang of this size has begun to train."""
        self._in_a_row[workers] = 0

    def failed(self, workers: int, reason: str) -> None:
        """An attempt on such a gang failed before that."""
        self._in_a_row[workers] += 1
        self._reasons[workers] = reason
        if self._in_a_row[workers] == MOST_IN_A_ROW:
            logger.warning("no more gangs of %d workers are started: %s", workers, self._problem(workers))

    def set_aside(self, workers: int) -> bool:
        """Whether no more gangs of this size are to be started."""
        return self._in_a_row[workers] >= MOST_IN_A_ROW

    def error(self, workers: int) -> LaunchError:
        """Why trials of this size are left."""
        remedy = "mend that, then `sweeper rerun --failed` runs them and what waits"
        return LaunchError(f"gangs of {workers} workers: {self._problem(workers)}", remedy)

    def _problem(self, workers: int) -> str:
        return f"{MOST_IN_A_ROW} attempts in a row failed before training, the last one so: {self._reasons[workers]}"
