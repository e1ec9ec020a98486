"""What services ask of a store: submissions under keys, and how far a sweep is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from sweeper.errors import SubmissionError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import SweepSpec, parse_spec
from sweeper.store import Store, open_store

SPEC = parse_spec({"name": "handed in", "space": {"batch_size": [16, 32], "workers": [1, 2]}})
PROBLEM = {"kind": "seating", "message": "space.workers: 2 cannot be seated", "remedy": "keep to at most 1 workers"}


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    yield store
    store.close()


def add(store: Store, key: str, spec: SweepSpec = SPEC, digest: str = "d") -> tuple[str, bool]:
    return store.submissions.add(key, digest, spec, plan(spec))


def test_a_key_has_one_sweep_however_often_it_comes(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: add(store, "a"), range(8)))
    assert len({sweep_id for sweep_id, _ in answers}) == 1
    assert sum(new for _, new in answers) == 1
    assert len(store.sweeps.all()) == 1
    assert add(store, "b")[0] != answers[0][0]


def test_a_key_stands_for_one_spec(store: Store) -> None:
    sweep_id, _ = add(store, "a")
    with pytest.raises(SubmissionError, match=f"key 'a': sweep {sweep_id} was submitted under it, with another spec"):
        add(store, "a", digest="other")
    assert len(store.sweeps.all()) == 1


def test_they_are_kept_in_their_order_with_what_kept_them_from_being_run(store: Store) -> None:
    before = datetime.now(UTC)
    ids = [add(store, key)[0] for key in ("b", "a", "c")]
    assert [one.sweep_id for one in store.submissions.all()] == ids
    assert all(before <= one.submitted_at <= datetime.now(UTC) for one in store.submissions.all())
    store.submissions.note_problem(ids[1], PROBLEM)
    found = store.submissions.of(ids[1])
    assert found
    assert (found.key, found.problem) == ("a", PROBLEM)
    store.submissions.note_problem(ids[1], None)
    assert [one.problem for one in store.submissions.all()] == [None] * 3
    assert store.submissions.runnable() == [(sweep_id, True) for sweep_id in ids]
    store.submissions.note_problem(ids[0], PROBLEM)
    store.sweeps.ask_to_stop(ids[2])
    assert store.submissions.runnable() == [(ids[1], True), (ids[2], False)]
    store.submissions.note_problem(ids[0], None)
    store.sweeps.delete(ids[0])
    assert [one.sweep_id for one in store.submissions.all()] == ids[1:]
    assert store.submissions.of(store.sweeps.add(SPEC, plan(SPEC))) is None


def test_progress_counts_and_gives_what_is_new(store: Store) -> None:
    sweep_id, _ = add(store, "a")
    assert store.progress.counts(sweep_id) == {(1, TrialState.PENDING): 2, (2, TrialState.PENDING): 2}
    first, second, *_ = store.trials.of(sweep_id)
    for trial in (first, second):
        assert store.attempts.claim(trial.id) == 1
    points = [LossPoint(1, 16, 0.5, 2.0), LossPoint(2, 32, 1.0, math.nan)]
    store.attempts.add_points(first.id, 1, points)
    assert store.progress.states(sweep_id) == {TrialState.PENDING: 2, TrialState.RUNNING: 2}
    running = store.progress.running(sweep_id)
    assert [(one.trial, one.attempt, one.workers) for one in running] == [(first.id, 1, 1), (second.id, 1, 1)]
    assert all(one.seconds >= 0 for one in running)
    assert store.progress.last_attempts(sweep_id, 10) == []
    assert store.progress.last_step(first.id, 1) == 2
    assert store.progress.last_step(second.id, 1) == 0
    new = store.progress.points_after({first.id: (1, 1), second.id: (1, 0)})
    assert list(new) == [first.id]
    assert (new[first.id][0].step, math.isnan(new[first.id][0].loss)) == (2, True)
    store.attempts.finish(first.id, 1, TrialState.DIVERGED, summarize(points))
    (ended,) = store.progress.last_attempts(sweep_id, 10)
    assert (ended.workers, ended.seconds >= 0) == (1, True)
    assert ended.ended_at.tzinfo is not None


def test_a_sweep_is_found_by_its_id_as_by_its_name(store: Store) -> None:
    sweep_id, _ = add(store, "a")
    add(store, "b")
    assert store.sweeps.find(sweep_id) == next(one for one in store.sweeps.all() if one.id == sweep_id)
    assert store.sweeps.find(sweep_id[:6]).id == sweep_id
