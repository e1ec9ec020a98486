"""What a service takes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import AccessError, SeatingError, SpecError
from sweeper.service import Policy, submit
from sweeper.store import Store, open_store

SMALL: dict[str, Any] = {
    "name": '实验 #1/日本 "x" <b>',
    "trial": {"model": "neuron", "data": "step-function", "images": 640},
    "space": {"learning_rate": [0.1, 0.2]},
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'sweeper.db'}")


def test_the_same_again_is_the_same_sweep(store: Store) -> None:
    sweep_id, new = submit(store, SMALL, "key", Policy())
    assert new
    # As a program writes it that has read the spec back.
    spec = store.sweeps.find(sweep_id).spec.written
    assert submit(store, spec, "key", Policy()) == (sweep_id, False)
    assert store.sweeps.find(sweep_id).trials == 2
    assert submit(store, SMALL, "another", Policy())[0] != sweep_id


@pytest.mark.parametrize(
    ("trial", "space", "field"),
    [
        ({"command": ["touch", "{x}"]}, {"x": [1]}, "trial.command: this server runs no commands"),
        ({"model": "mine:Network"}, {"learning_rate": [0.1]}, "trial.model: 'mine:Network' is code of yours"),
        ({"data": "mine:load"}, {"learning_rate": [0.1]}, "trial.data: 'mine:load' is code of yours"),
        ({}, {"model": ["alexnet-cifar", "mine:Network"]}, "trial.model: 'mine:Network' is code of yours"),
    ],
)
def test_code_is_taken_only_where_it_may_be_run(
    store: Store, trial: dict[str, Any], space: dict[str, Any], field: str
) -> None:
    written = {"name": "code", "trial": trial, "space": space}
    with pytest.raises(AccessError) as refused:
        submit(store, written, "key", Policy())
    assert field in refused.value.message
    assert "--allow-commands" in refused.value.remedy
    assert store.sweeps.all() == []
    submit(store, written, "key", Policy(allow_code=True))


@pytest.mark.parametrize("written", [None, [], "x", {}, {"name": "a", "space": {"no such": [1]}}])
def test_what_is_no_spec_is_refused(store: Store, written: Any) -> None:
    with pytest.raises(SpecError):
        submit(store, written, "key", Policy())
    assert store.sweeps.all() == []


def test_what_is_nested_without_end_is_refused(store: Store) -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(SpecError, match="nested too deeply"):
        submit(store, {**SMALL, "name": deep}, "key", Policy())


def test_what_cannot_be_seated_is_refused_unless_a_cluster_may_seat_it(store: Store) -> None:
    many = {**SMALL, "space": {"workers": [100_000]}, "trial": {**SMALL["trial"], "images": 10**8}}
    with pytest.raises(SeatingError, match="100000 cannot be seated"):
        submit(store, many, "key", Policy())
    submit(store, many, "key", Policy(ray_address="head:6379"))
