"""A clock that goes forward by the work that is done, and by nothing else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from engine.evaluation import Evaluator
from engine.exchange import Meeting, Staging
from engine.learner import Learner
from engine.optimizer import Sgd

COMPUTING, UPDATING, TAKING, GIVING, MEETING, REPORTING, EVALUATING = 3.0, 1.0, 0.5, 0.25, 2.0, 0.125, 700.0


class WorkingClock:
    """Seconds of the work that has been done; a reading takes none."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self._seconds = 0.0
        self._patches = patches
        self._takes(Learner, "_learn", COMPUTING)
        self._takes(Staging, "take", TAKING)
        self._takes(Staging, "give", GIVING)
        patches.setattr(Meeting, "__call__", self._met(Meeting.__call__))
        self._takes(Evaluator, "__call__", EVALUATING)

        self._takes(Sgd, "step", UPDATING)

    def now(self) -> float:
        """The seconds."""
        return self._seconds

    def taking(self, seconds: float, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, which takes so long."""

        @functools.wraps(work)
        def timed(*given: Any) -> Any:
            result = work(*given)
            self._seconds += seconds
            return result

        return timed

    def _met(self, meet: Callable[[Meeting], None]) -> Callable[[Meeting], None]:
        def met(meeting: Meeting) -> None:
            meet(meeting)
            if meeting._meets:
                self._seconds += MEETING

        return met

    def _takes(self, owner: type, name: str, seconds: float) -> None:
        self._patches.setattr(owner, name, self.taking(seconds, getattr(owner, name)))
