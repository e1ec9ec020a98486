"""The contract of a store on what ranks print, over each kind of database."""

from __future__ import annotations

import pytest

from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Printed, Store
from tests.contracts.test_store import added, curve

AWKWARD = Printed("rank 1: 日本\x1b[31m \ufffd\r\n\tend", 2**40)


@pytest.mark.parametrize("state", [TrialState.COMPLETED, TrialState.FAILED, TrialState.PRUNED])
def test_it_comes_with_the_end_of_an_attempt(store: Store, state: TrialState) -> None:
    _, (first, *_) = added(store)
    store.attempts.claim(first)
    store.attempts.add_points(first, 1, curve())
    store.attempts.finish(first, 1, state, summarize(curve()), printed=AWKWARD)
    assert store.attempts.printed(first, 1) == AWKWARD


def test_each_attempt_has_its_own_and_what_said_nothing_has_none(store: Store) -> None:
    _, (first, other, *_) = added(store)
    for number, printed in enumerate([Printed("lost"), None, Printed("a\nb\n", 3)], start=1):
        assert store.attempts.claim(first) == number
        store.attempts.release(first, number, "interrupted", printed=printed)
    assert store.attempts.claim(other) == 1
    found = [store.attempts.printed(first, number) for number in (1, 2, 3, 4)]
    assert found == [Printed("lost"), None, Printed("a\nb\n", 3), None]
    assert store.attempts.printed(other, 1) is None


def test_what_no_database_can_hold_is_replaced(store: Store) -> None:
    _, (first, *_) = added(store)
    store.attempts.claim(first)
    store.attempts.release(first, 1, "interrupted", printed=Printed("a\0b\ud800c"))
    assert store.attempts.printed(first, 1) == Printed("a\ufffdb\ufffdc")


def test_it_goes_with_its_sweep(store: Store) -> None:
    sweep, (first, *_) = added(store)
    store.attempts.claim(first)
    store.attempts.release(first, 1, "interrupted", printed=AWKWARD)
    store.sweeps.delete(sweep)
    assert store.attempts.printed(first, 1) is None
