"""Which state may follow which."""

from __future__ import annotations

import pytest

from sweeper.plan.trial import KEEPING, KEPT, TRANSITIONS, TrialState, predecessors, replaces

FINAL = {TrialState.COMPLETED, TrialState.DIVERGED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED}


def test_states_have_the_names_that_others_read() -> None:
    assert list(map(str, TrialState)) == [
        "pending",
        "running",
        "completed",
        "diverged",
        "pruned",
        "failed",
        "cancelled",
    ]


@pytest.mark.parametrize("state", TrialState)
def test_all_but_pending_and_running_are_final(state: TrialState) -> None:
    assert state.ended == (state in FINAL)
    assert bool(TRANSITIONS[state] - {TrialState.PENDING}) != state.ended


def test_a_failed_trial_may_be_tried_again_and_one_with_a_result_repeated() -> None:
    assert {state for state in FINAL if TRANSITIONS[state]} == {TrialState.FAILED, *KEPT}
    assert set(KEEPING) == set(TrialState) - FINAL


def test_a_trial_ends_only_from_running_but_for_cancelling_and_pruning() -> None:
    for state in FINAL - {TrialState.CANCELLED, TrialState.PRUNED}:
        assert predecessors(state) == [TrialState.RUNNING]
    for state in (TrialState.CANCELLED, TrialState.PRUNED):
        assert predecessors(state) == [TrialState.PENDING, TrialState.RUNNING]


def test_a_running_trial_may_go_back_and_only_a_pending_one_may_start() -> None:
    assert predecessors(TrialState.PENDING) == [TrialState.RUNNING, *KEPT, TrialState.FAILED]
    assert predecessors(TrialState.RUNNING) == [TrialState.PENDING]


def test_only_whole_results_replace_a_complete_one() -> None:
    whole = {TrialState.COMPLETED, TrialState.DIVERGED}
    assert {end for end in FINAL if replaces(end, TrialState.COMPLETED)} == whole
    assert {end for end in FINAL if replaces(end, TrialState.PRUNED)} == whole | {TrialState.PRUNED}
