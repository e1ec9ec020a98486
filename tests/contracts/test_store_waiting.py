"""What a scheduler reads of large sweeps, over each kind of database."""

from __future__ import annotations

import pytest

from sweeper.plan import plan, written_trials
from sweeper.plan.trial import TrialState
from sweeper.spec import parse_spec
from sweeper.store import Store, new_trials, trials

SPACE = {"batch_size": [8, 16, 32], "workers": [2, 1], "data": ["digits", "synthetic"]}


def added(store: Store) -> str:
    spec = parse_spec({"name": "mine", "space": SPACE})
    return store.sweeps.add(spec, plan(spec))


def test_what_waits_comes_in_the_order_of_the_plan_by_shape_and_as_far_as_asked(store: Store) -> None:
    sweep, other = added(store), added(store)
    each = store.trials.of(sweep)
    assert store.trials.waiting(sweep) == [trial.waits for trial in each]
    shapes = sorted(store.trials.shapes(sweep))
    assert [workers for workers, _ in shapes] == [1, 2]
    for shape in shapes:
        own = [trial.waits for trial in each if trial.workers == shape[0]]
        assert store.trials.waiting(sweep, shape, 4) == own[:4]
        assert store.trials.waiting(sweep, shape) == own
    for trial in each:
        if trial.workers == 2:
            store.attempts.claim(trial.id)
    assert sorted(workers for workers, _ in store.trials.shapes(sweep)) == [1, 2], "they may come to wait again"
    assert store.trials.waiting(sweep, shapes[1]) == []
    assert len(store.trials.waiting(other)) == len(each)


def test_resources_make_shapes_too(store: Store) -> None:
    sweep = added(store)
    spec = parse_spec({"name": "more", "space": {"batch_size": [64]}, "resources": {"cpus_per_worker": 2}})
    assert store.sweeps.extend(sweep, plan(spec)) == 1
    shapes = store.trials.shapes(sweep)
    assert sorted(workers for workers, _ in shapes) == [1, 1, 2]
    found = [trial for shape in shapes for trial in store.trials.waiting(sweep, shape)]
    assert sorted(trial.position for trial in found) == list(range(13))


def test_one_trial_of_each_kind_stands_for_all(store: Store) -> None:
    sweep = added(store)
    kinds = store.trials.kinds(sweep, [TrialState.PENDING])
    assert sorted((trial.workers, trial.config["data"]) for trial in kinds) == [
        (workers, data) for workers in (1, 2) for data in ("digits", "synthetic")
    ]
    assert kinds == sorted(kinds, key=lambda trial: trial.position)
    assert store.trials.kinds(sweep, [TrialState.FAILED]) == []
    command = parse_spec({"name": "c", "trial": {"command": ["run", "{a}"]}, "space": {"a": [1, 2], "workers": [1, 2]}})
    assert len(store.trials.kinds(store.sweeps.add(command, plan(command)), [TrialState.PENDING])) == 2


def test_trials_are_read_and_written_in_portions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_PORTION", 5)
    monkeypatch.setattr(new_trials, "_BATCH", 5)
    sweep = added(store)
    each = store.trials.each(sweep)
    assert list(each) == list(each) == store.trials.of(sweep)
    assert [trial.position for trial in each] == list(range(12))
    spec = parse_spec({"name": "mine", "space": SPACE})
    assert [trial.planned for trial in each] == list(plan(spec))
    assert [trial.id.partition("-")[2] for trial in each] == [one.key for one in written_trials(plan(spec))]


def test_those_that_never_began_are_told_from_those_that_did(store: Store) -> None:
    sweep = added(store)
    first, second, third, *rest = store.trials.of(sweep)
    for trial in (first, second, third):
        store.attempts.claim(trial.id)
    store.attempts.release(second.id, 1, "interrupted")
    assert dict(store.trials.unbegun(sweep)) == {trial.id: trial.parameters for trial in rest}
    begun = store.trials.candidates(sweep, "seconds", kept=False, begun=True)
    assert [one.trial for one in begun] == [first.id, second.id, third.id]
    assert store.sweeps.find(sweep).begun
    assert not store.sweeps.find(added(store)).begun


def test_a_sweep_that_waits_again_was_begun(store: Store) -> None:
    sweep = added(store)
    first = store.trials.of(sweep)[0]
    store.attempts.claim(first.id)
    store.attempts.release(first.id, 1, "interrupted")
    for found in (store.sweeps.find(sweep), *store.sweeps.all()):
        assert (found.begun, found.state, found.states) == (True, "interrupted", {TrialState.PENDING: 12})
