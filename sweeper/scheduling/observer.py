"""Who watches a sweep while a scheduler runs it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sweeper.ranking.curve import LossPoint
from sweeper.store import Store, SweepRecord, TrialRecord


class Observer(Protocol):
    """Who watches a sweep; called from the scheduler's thread, in the order of what happens."""

    def trial_started(self, trial: TrialRecord) -> None:
        """A trial was claimed and its gang asked for."""

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """A running trial reported a loss point."""

    def trial_ended(self, trial: TrialRecord) -> None:
        """A trial is over; the record is as the store has it now."""

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """A repeated trial is over, and has its old result again; the record is as the store has it now.

        `why` tells what became of the repetition.
        """

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """A trial's attempt has failed, and the trial waits for its next one."""


@dataclass(frozen=True)
class Audience:
    """Who follows a run: `say` gets a line now and then, `view` makes an observer that is shown while trials run."""

    say: Callable[[str], object]
    view: Callable[[Store, SweepRecord], AbstractContextManager[Observer]]
