"""A trial and its states: the only module that says which state may follow which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.config import TrainingConfig
from sweeper.spec import Resources
from sweeper.spec.command import CommandConfig


class TrialState(StrEnum):
    """Where a trial stands; all but pending and running are ends."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    DIVERGED = "diverged"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended_early(self) -> bool:
        """Whether the trial is over without having run to its end: an area that it has is a lower bound."""
        return self in (TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED)

    @property
    def ended(self) -> bool:
        """Whether the trial is over. What an ended one recorded stays at least until another attempt has a result."""
        return self not in (TrialState.PENDING, TrialState.RUNNING)


TRANSITIONS: dict[TrialState, frozenset[TrialState]] = {
    TrialState.PENDING: frozenset(
        {
            TrialState.RUNNING,
            TrialState.CANCELLED,
            TrialState.PRUNED,  # it can win no more, or hardly, by what others have come to: it need not begin
        }
    ),
    TrialState.RUNNING: frozenset(
        {
            TrialState.PENDING,  # the attempt was interrupted: the trial waits for another
            TrialState.COMPLETED,
            TrialState.DIVERGED,
            TrialState.PRUNED,
            TrialState.FAILED,
            TrialState.CANCELLED,
        }
    ),
    TrialState.COMPLETED: frozenset({TrialState.PENDING}),  # to be repeated: it keeps its result meanwhile
    TrialState.DIVERGED: frozenset(),
    TrialState.PRUNED: frozenset({TrialState.PENDING}),  # the same
    TrialState.FAILED: frozenset({TrialState.PENDING}),  # asked for by hand: another attempt, the old ones stay
    TrialState.CANCELLED: frozenset(),
}


KEPT = (TrialState.COMPLETED, TrialState.PRUNED)  # the results that a trial keeps while it is repeated
KEEPING = (TrialState.PENDING, TrialState.RUNNING)


def replaces(end: TrialState, kept: TrialState) -> bool:
    """Whether the end of a repeated trial's new attempt takes the place of the result that the trial keeps.

    A complete curve does, and so does a divergence: it is the result of the same settings and seed. A pruned attempt
    has a part of a curve, and replaces only another pruned one. After any other end the trial returns to its result.
    """
    if end is TrialState.PRUNED:
        return kept is TrialState.PRUNED
    return end in (TrialState.COMPLETED, TrialState.DIVERGED)


def predecessors(state: TrialState) -> list[TrialState]:
    """The states that `state` may follow, for a store's conditional update."""
    return [before for before, after in TRANSITIONS.items() if state in after]


@dataclass(frozen=True)
class TrialSpec:
    """One point of the space with one seed: what to run, before anything has run.

    `key` is a digest of the content, unique within a sweep; `parameters` are the swept values with workers, and unless
    a command is run batch size and learning rate, always among them.
    """

    key: str
    workers: int
    parameters: dict[str, Any]
    config: TrainingConfig | CommandConfig
    resources: Resources
