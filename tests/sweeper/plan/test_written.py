"""Trials as a store writes them: the same, to the letter, as if each was made; and the same refusals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import INDEPENDENT
from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import outermost, plan, written_trials
from sweeper.plan.making import trial_at
from sweeper.plan.written import written
from sweeper.spec import SweepSpec, parse_spec
from tests.sweeper.specs import specs, training

COMMAND = ["train", "{lr}", "--name={name}", ["--depth", "{depth}"], "{seed}"]
NUMBERS = {"model": "neuron", "data": "step-function"}
SPACES: dict[str, dict[str, Any]] = {
    "numbers of all kinds": {"space": {"learning_rate": [1, 2.5, 1e-7], "momentum": [0, 0.5], "weight_decay": [1e-5]}},
    "words": {"space": {"points": ["all", 10], "learning_rate": [0.1], "exchange.method": ["ring", "all-reduce"]}},
    "seeds": {"space": {"seed": [3, 2**62], "checkpoint_every": [100, 200], "evaluate_every": [100]}},
    "repeats": {"space": {"learning_rate": [0.1, 0.2]}, "repeats": 3, "trial": {"seed": 5}},
    "a race": {"space": {"learning_rate": [0.1, 0.2]}, "repeats": "auto"},
    "batch sizes": {"space": {"batch_size": [8, 16], "workers": [2, 1], "learning_rate": [0.1, 0.2]}},
    "global batch sizes": {"space": {"global_batch_size": [8, 16], "workers": [1, 2], "momentum": [0.1, 0.2]}},
    "budgets": {"space": {"steps": [10, 20], "learning_rate": [0.1, 0.2]}},
    "conditions": {
        "space": {
            "momentum": {"values": [0.1, 0.2], "when": {"workers": 2}},
            "learning_rate": [0.1, 0.2],
            "workers": [1, 2],
            "weight_decay": {"values": [0.1], "when": {"momentum": [0.1]}},
        },
        "trial": {"momentum": 0.9},
    },
    "settings": {
        "space": {
            "points": [
                {"learning_rate": 0.1, "workers": 2, "momentum": 0.0},
                {"learning_rate": 0.2, "workers": 1, "momentum": -0.0},
                {"learning_rate": 0.3, "workers": 2, "momentum": 0.5},
            ],
            "weight_decay": [0.0, 0.1],
        }
    },
    "nested fields": {"space": {"schedule.warm_up": [0.0, 0.1], "augmentation.flip": [True, False], "fc": ["torch"]}},
    "signs that stand for places": {
        "trial": {"model": "mine.of:one", "data": "mine.of:two"},
        "space": {"seed": [1, 2]},
    },
    "a command": {
        "trial": {"command": [*COMMAND, "100 %", '"%(lr)s"'], "values": {"seed": 7}},
        "space": {
            "lr": [1, 0.5, "1e-3", float("inf")],
            "name": ["ä %s", '"quoted"', ""],
            "depth": {"values": [1, 2.0, True], "when": {"name": ""}},
        },
        "repeats": 2,
    },
}


def spec_of(given: dict[str, Any]) -> SweepSpec:
    return parse_spec({"name": "mine", **given})


@pytest.mark.parametrize("name", SPACES)
def test_what_is_written_is_what_would_be_made(name: str) -> None:
    spec = spec_of(SPACES[name])
    trials = plan(spec)
    assert list(written_trials(trials)) == list(map(written, list(trials)))
    assert list(written_trials(list(trials))) == list(trials.written())
    assert len(trials) == len(list(trials)) > 1


@settings(max_examples=50)
@given(specs())
def test_that_holds_of_any_grid(spec: SweepSpec) -> None:
    trials = plan(spec)
    assert list(trials.written()) == list(map(written, trials))


@pytest.mark.parametrize("method", ["random", "quasi-random", "tpe"])
def test_and_of_searches(method: str) -> None:
    space = {"learning_rate": {"low": 1e-5, "high": 1, "log": True}, "batch_size": {"low": 1, "high": 64}}
    spec = spec_of({"space": space, "search": method, "trials": 20, "objective": {"threshold": 1.0}})
    trials = plan(spec, first_points)
    assert list(trials.written()) == list(map(written, trials))


def test_the_order_of_points_is_that_of_the_spec_with_workers_outermost() -> None:
    spec = spec_of(SPACES["conditions"])
    found = [tuple(trial.parameters[name] for name in ("workers", "learning_rate")) for trial in plan(spec)]
    assert found == sorted(found)
    momenta = [trial.parameters["momentum"] for trial in plan(spec) if trial.workers == 2]
    assert momenta == [0.1, 0.2] * 2


def test_a_plan_is_a_sequence() -> None:
    trials = plan(spec_of(SPACES["batch sizes"]))
    each = list(trials)
    assert [trials[place] for place in range(-8, 8)] == [*each, *each]
    assert (trials[2:-1], trials[::-2], trials[5:5]) == (each[2:-1], each[::-2], [])
    assert (trials.index(each[3]), each[3] in trials, len(trials)) == (3, True, 8)
    assert trials == each == plan(spec_of(SPACES["batch sizes"]))
    assert trials != each[1:]
    with pytest.raises(IndexError):
        trials[8]


def test_a_few_trials_stand_for_all() -> None:
    rates = {"low": 0.001, "high": 8, "step": 0.001}
    space = {"learning_rate": rates, "data": ["digits", "cifar10"], "workers": [1, 2, 4], "momentum": [0.1, 0.2]}
    trials = plan(spec_of({"space": space}))
    assert len(trials) == 8000 * 2 * 3 * 2
    kinds = {(trial.workers, training(trial.config).data) for trial in trials.kinds}
    assert kinds == set(itertools.product((1, 2, 4), ("digits", "cifar10")))
    assert len(trials.kinds) == 6


def refusal(spec: SweepSpec, *, one_by_one: bool) -> str:
    try:
        if one_by_one:
            for point in spec.points():
                trial_at(spec, point, 0)
        plan(spec)
    except SpecError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "given",
    [
        {"space": {"learning_rate": [0.1, 0.2], "model": ["alexnet-cifar", "neuron"], "momentum": [0.1, 0.2]}},
        {"space": {"augmentation.flip": [False, True], "momentum": [0.1, 0.2]}, "trial": NUMBERS},
        {
            "space": {
                "points": [
                    {"data": "digits", "learning_rate": 0.1},
                    {"data": "step-function", "learning_rate": 0.2},
                ],
                "momentum": [0.1, 0.2],
            }
        },
        {"space": {"exchange.overlap": ["auto", "on"], "seed": [1, 2], "exchange.method": ["auto", "ring"]}},
        {
            "space": {
                "augmentation.shift": {"values": [2, 3], "when": {"momentum": [0.2]}},
                "learning_rate": [0.1, 0.2],
                "momentum": [0.1, 0.2],
            },
            "trial": NUMBERS,
        },
        {"space": {"learning_rate": [0.1, 0.2]}, "repeats": 5, "trial": {"seed": 2**63 - 3}},
    ],
)
def test_the_first_combination_that_cannot_be_trained_is_named(given: dict[str, Any]) -> None:
    spec = spec_of(given)
    said = refusal(spec, one_by_one=False)
    assert "(at workers=1" in said
    if "repeats" not in given:
        assert said == refusal(spec, one_by_one=True)


FIELDS: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("learning_rate", "momentum", "weight_decay"), (0.01, 0.5)),
    **dict.fromkeys(("points", "evaluate_every", "checkpoint_every", "seed"), (7, 8)),
    "model": ["alexnet-cifar", "neuron", "mlp"],
    "data": ["digits", "step-function"],
    "batch_size": [8],
    "global_batch_size": [8],
    "images": [1000],
    "steps": [10],
    "epochs": [1.0],
    "exchange.every": [1, 2],
    "exchange.average": ["gradients", "weights"],
    "augmentation.flip": [True, False],
    "schedule.kind": ["step", "constant"],
}


@given(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=5, unique=True), st.data())
def test_independent_fields_decide_nothing_about_others(names: list[str], data: st.DataObject) -> None:
    """So that a field is not called independent which one day is asked for by another."""
    space = {
        name: FIELDS[name] for name in data.draw(st.permutations([*names, data.draw(st.sampled_from(INDEPENDENT))]))
    }
    try:
        spec = spec_of({"space": space})
    except SpecError:
        return  # refused before it is planned
    assert refusal(spec, one_by_one=False) == refusal(spec, one_by_one=True)
    assert set(FIELDS) >= set(INDEPENDENT)


def test_searches_that_learn_name_what_cannot_be_trained() -> None:
    space = {"learning_rate": {"low": 0.1, "high": 1}, "model": ["neuron", "mlp"]}
    spec = spec_of({"space": space, "search": "random", "trials": 20})
    with pytest.raises(SpecError, match="model neuron cannot learn data fashion-mnist"):
        plan(spec, first_points)
    with pytest.raises(SpecError, match="model neuron cannot learn data fashion-mnist"):
        outermost(spec)
