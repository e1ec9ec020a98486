"""The state of a sweep, in the words that people and programs read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from sweeper.plan.trial import TrialState


class SweepState(StrEnum):
    """How far a sweep is. Only `COMPLETED` says that every trial has a result."""

    WAITING = "waiting"  # nothing has begun
    RUNNING = "running"  # a scheduler that is alive runs trials
    COMPLETED = "completed"  # every trial has a result: it completed, diverged or was pruned
    COMPLETED_WITH_FAILURES = "completed with failures"  # every trial has ended; some failed
    FAILED = "failed"  # every trial failed
    STOPPED = "stopped"  # somebody stopped it before every trial had ended
    INTERRUPTED = "interrupted"  # it has begun, trials are left, and nobody runs them

    @property
    def over(self) -> bool:
        """Whether the sweep has ended: nothing of it is left to run."""
        return self not in (SweepState.WAITING, SweepState.RUNNING, SweepState.INTERRUPTED)


def sweep_state(
    states: Mapping[TrialState, int], total: int, *, begun: bool, held: int, stop_asked: bool
) -> SweepState:
    """The state of a sweep from the states of its trials.

    Args:
        states: how many trials are in each state.
        total: how many trials there will be; above their sum while a search is still to add some.
        begun: whether any trial was ever attempted.
        held: how many of the running trials belong to a scheduler whose lease is alive.
        stop_asked: whether somebody has asked to stop the sweep.
    """
    if held:
        return SweepState.RUNNING
    if sum(count for state, count in states.items() if state.ended) < total:
        if stop_asked:
            return SweepState.STOPPED
        begun = begun or any(count for state, count in states.items() if state is not TrialState.PENDING)
        return SweepState.INTERRUPTED if begun else SweepState.WAITING
    if states.get(TrialState.CANCELLED):
        return SweepState.STOPPED
    failed = states.get(TrialState.FAILED, 0)
    if not failed:
        return SweepState.COMPLETED
    return SweepState.FAILED if failed == total else SweepState.COMPLETED_WITH_FAILURES
