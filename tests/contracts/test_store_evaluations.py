"""The contract of a store on evaluations, over each kind of database."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event

from sweeper.errors import StoreError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import EvaluationRecord, Store
from tests.contracts.test_store import EXTREMES, added, bits, curve, mine


def evaluated(step: int, accuracy: float = 0.5, loss: float = 1.25) -> EvaluationRecord:
    return EvaluationRecord(step, 64 * step, 0.1 * step, loss, accuracy)


@contextmanager
def statements() -> Iterator[list[str]]:
    """What is asked of any database meanwhile."""
    said: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement != "BEGIN":
            said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield said
    event.remove(Engine, "before_cursor_execute", note)


class TestEvaluations:
    """Every kind of database passes the same."""

    def test_a_new_store_has_none(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        for trial, sweep in ((first, sweep_id), ("none", "none")):
            assert store.attempts.evaluations(trial) == []
            assert store.attempts.evaluations_by_trial(sweep) == {}
            assert store.attempts.last_evaluations(sweep) == {}

    def test_they_come_back_in_the_order_of_their_steps(self, store: Store) -> None:
        sweep_id, (first, second, *_) = added(store)
        for trial in (second, first):
            store.attempts.claim(trial)
        theirs = [evaluated(10, 1 / 3), evaluated(2, 0.1), evaluated(9, 0.9)]
        for evaluation in theirs:
            store.attempts.add_evaluation(first, 1, evaluation)
        store.attempts.add_evaluation(second, 1, evaluated(5, 0.0))
        in_order = [theirs[1], theirs[2], theirs[0]]
        assert store.attempts.evaluations(first) == store.attempts.evaluations(first, 1) == in_order
        found = store.attempts.evaluations_by_trial(sweep_id)
        assert found == {first: in_order, second: [evaluated(5, 0.0)]}
        assert list(found) == [first, second], "the order of the plan"

    def test_the_last_one_is_that_of_the_highest_step(self, store: Store) -> None:
        sweep_id, (first, second, *_) = added(store)
        for trial in (first, second):
            store.attempts.claim(trial)
        for step, accuracy in ((3, 0.8), (20, 0.6), (7, 0.9)):
            store.attempts.add_evaluation(first, 1, evaluated(step, accuracy))
        store.attempts.add_evaluation(second, 1, evaluated(4, 0.7))
        assert store.attempts.last_evaluations(sweep_id) == {first: evaluated(20, 0.6), second: evaluated(4, 0.7)}

    def test_losses_of_every_kind_come_back_to_the_last_bit(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        for step, loss in enumerate(EXTREMES):
            store.attempts.add_evaluation(first, 1, evaluated(step, loss=loss))
        found = store.attempts.evaluations(first)
        assert [bits(evaluation.loss) for evaluation in found] == list(map(bits, EXTREMES))
        assert [replace(e, loss=0.0) for e in found] == [evaluated(step, loss=0.0) for step in range(len(EXTREMES))]
        store.attempts.add_evaluation(first, 1, evaluated(100, loss=math.nan))
        assert math.isnan(store.attempts.last_evaluations(sweep_id)[first].loss)
        assert math.isnan(store.attempts.evaluations_by_trial(sweep_id)[first][-1].loss)

    def test_what_an_import_does_not_say_stays_unknown(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_evaluation(first, 1, EvaluationRecord(3, None, math.nan, 0.5, math.nan))
        (found,) = store.attempts.evaluations(first)
        assert repr(found) == repr(EvaluationRecord(3, None, math.nan, 0.5, math.nan))
        assert repr(store.attempts.last_evaluations(sweep_id)[first]) == repr(found)

    def test_they_belong_to_their_attempt(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_evaluation(first, 1, evaluated(9, 0.9))
        store.attempts.release(first, 1, "the scheduler was killed")
        assert store.attempts.last_evaluations(sweep_id) == {}, "it begins anew"
        assert store.attempts.evaluations_by_trial(sweep_id) == {}
        store.attempts.claim(first)
        assert store.attempts.evaluations(first) == []
        assert store.attempts.last_evaluations(sweep_id) == {}
        store.attempts.add_evaluation(first, 2, evaluated(4, 0.4))
        store.attempts.finish(first, 2, TrialState.COMPLETED, summarize(curve(2.0, 1.0)))
        assert store.attempts.evaluations(first) == [evaluated(4, 0.4)]
        assert store.attempts.evaluations(first, 1) == [evaluated(9, 0.9)]
        assert store.attempts.evaluations_by_trial(sweep_id) == {first: [evaluated(4, 0.4)]}
        assert store.attempts.last_evaluations(sweep_id) == {first: evaluated(4, 0.4)}

    def test_sweeps_of_one_store_do_not_mix(self, store: Store) -> None:
        for accuracy in (0.1, 0.2):
            sweep_id, (first, *_) = added(store)
            store.attempts.claim(first)
            store.attempts.add_evaluation(first, 1, evaluated(1, accuracy))
        assert store.attempts.evaluations_by_trial(sweep_id) == {first: [evaluated(1, 0.2)]}
        assert store.attempts.last_evaluations(sweep_id) == {first: evaluated(1, 0.2)}

    def test_a_step_has_no_second_one(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_evaluation(first, 1, evaluated(1))
        with pytest.raises(StoreError, match=re.escape(f"store {store.name}: ")):
            store.attempts.add_evaluation(first, 1, evaluated(1, 0.9))
        assert store.attempts.evaluations(first) == [evaluated(1)]

    def test_those_of_an_attempt_that_is_not_there_are_refused(self, store: Store) -> None:
        _, (first, *_) = added(store)
        with pytest.raises(StoreError):
            store.attempts.add_evaluation(first, 1, evaluated(1))

    def test_a_sweeps_are_read_by_one_query_however_many_trials_it_has(self, store: Store) -> None:
        sweep_id, trials = added(store, mine(repeats=3))
        for trial in trials:
            store.attempts.claim(trial)
            store.attempts.add_evaluation(trial, 1, evaluated(1))
        with statements() as said:
            assert len(store.attempts.evaluations_by_trial(sweep_id)) == len(trials)
        assert len([one for one in said if "evaluation" in one]) == len(said) == 1
        with statements() as said:
            assert len(store.attempts.last_evaluations(sweep_id)) == len(trials)
        assert len([one for one in said if "evaluation" in one]) == len(said) == 1
