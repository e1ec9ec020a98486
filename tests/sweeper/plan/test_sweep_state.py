"""What a sweep is called by what has become of its trials."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.plan.sweep_state import SweepState, sweep_state
from sweeper.plan.trial import TrialState

PENDING, RUNNING, COMPLETED = TrialState.PENDING, TrialState.RUNNING, TrialState.COMPLETED
DIVERGED, PRUNED, FAILED, CANCELLED = (
    TrialState.DIVERGED,
    TrialState.PRUNED,
    TrialState.FAILED,
    TrialState.CANCELLED,
)
RESULTS = (COMPLETED, DIVERGED, PRUNED)


def state_of(states: Mapping[TrialState, int], *, more: int = 0, held: int = 0, asked: bool = False) -> SweepState:
    """The state of a sweep to which a search is still to add `more` trials."""
    begun = any(state is not PENDING for state in states)
    return sweep_state(states, sum(states.values()) + more, begun=begun, held=held, stop_asked=asked)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({PENDING: 3}, "waiting"),
        ({}, "completed"),  # an import of nothing
        ({COMPLETED: 3}, "completed"),
        ({COMPLETED: 1, DIVERGED: 1, PRUNED: 1}, "completed"),
        ({DIVERGED: 3}, "completed"),
        ({COMPLETED: 11, FAILED: 1}, "completed with failures"),
        ({DIVERGED: 1, FAILED: 11}, "completed with failures"),
        ({FAILED: 12}, "failed"),
        ({COMPLETED: 2, CANCELLED: 14}, "stopped"),
        ({FAILED: 2, CANCELLED: 14}, "stopped"),
        ({COMPLETED: 1, PENDING: 1}, "interrupted"),
        ({PRUNED: 1, PENDING: 1}, "interrupted"),
        ({COMPLETED: 1, RUNNING: 1}, "interrupted"),  # whoever ran it has gone
    ],
)
def test_a_sweep_that_nobody_runs(states: dict[TrialState, int], expected: str) -> None:
    assert state_of(states) == expected


def test_a_sweep_runs_while_a_scheduler_that_is_alive_runs_trials() -> None:
    assert state_of({COMPLETED: 1, RUNNING: 2}, held=1) is SweepState.RUNNING
    assert state_of({CANCELLED: 1, RUNNING: 1}, held=1, asked=True) is SweepState.RUNNING


def test_a_search_that_is_to_add_trials_is_not_over_unless_it_was_stopped() -> None:
    assert state_of({COMPLETED: 2}, more=1) is SweepState.INTERRUPTED
    assert state_of({PENDING: 2}, more=1) is SweepState.WAITING
    assert state_of({COMPLETED: 2}, more=1, asked=True) is SweepState.STOPPED


def test_a_stop_that_came_when_all_had_ended_changes_nothing() -> None:
    assert state_of({COMPLETED: 2}, asked=True) is SweepState.COMPLETED


def test_a_trial_that_waits_for_another_attempt_was_begun() -> None:
    assert sweep_state({PENDING: 2}, 2, begun=True, held=0, stop_asked=False) is SweepState.INTERRUPTED


@given(st.dictionaries(st.sampled_from(TrialState), st.integers(1, 3)), st.integers(0, 2), st.booleans())
def test_completed_alone_says_that_every_trial_has_a_result(
    states: dict[TrialState, int], more: int, asked: bool
) -> None:
    found = state_of(states, more=more, asked=asked)
    assert (found is SweepState.COMPLETED) == (not more and all(state in RESULTS for state in states))
