"""Fields that only some trials have: which points there are, what is refused, and what the trials are like."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec
from sweeper.spec import SweepSpec, parse_spec
from sweeper.spec.conditions import count, points, without_absent
from tests.sweeper.specs import training

KINDS = ["constant", "cosine", "step"]
FACTOR = {"values": [0.1, 0.5], "when": {"schedule.kind": "step"}}
SPACE: dict[str, Any] = {"schedule.kind": KINDS, "schedule.factor": FACTOR}


def parsed(space: dict[str, Any], **fields: Any) -> SweepSpec:
    return parse_spec({"name": "n", "space": space, **fields})


def pairs(trials: Sequence[TrialSpec]) -> list[tuple[Any, Any]]:
    return [(t.parameters["schedule.kind"], t.parameters["schedule.factor"]) for t in trials]


def test_a_grid_has_each_field_only_where_its_condition_holds() -> None:
    trials = plan(parsed(SPACE))
    assert pairs(trials) == [("constant", None), ("cosine", None), ("step", 0.1), ("step", 0.5)]
    assert [training(trial.config).schedule.factor for trial in trials] == [0.1, 0.1, 0.1, 0.5]
    assert parsed(SPACE).size == 4


def test_the_order_of_fields_in_the_spec_does_not_matter() -> None:
    assert pairs(plan(parsed(dict(reversed(SPACE.items()))))) == pairs(plan(parsed(SPACE)))


def test_a_range_and_several_conditions_with_lists_of_values() -> None:
    when = {"schedule.kind": ["step", "cosine"], "workers": 2}
    space = {
        "workers": [1, 2],
        "schedule.kind": KINDS,
        "schedule.warm_up": {"low": 0.1, "high": 0.2, "step": 0.1, "when": when},
    }
    found = [
        (trial.workers, trial.parameters["schedule.kind"], trial.parameters["schedule.warm_up"])
        for trial in plan(parsed(space))
    ]
    assert found == [
        *((1, kind, None) for kind in KINDS),
        (2, "constant", None),
        *((2, kind, part) for kind in ("cosine", "step") for part in (0.1, 0.2)),
    ]


def test_a_condition_on_a_field_that_is_absent_does_not_hold() -> None:
    momentum = {"values": [0.5, 0.9], "when": {"schedule.factor": 0.5}}
    found = [trial.parameters["momentum"] for trial in plan(parsed({**SPACE, "momentum": momentum}))]
    assert found == [None, None, None, 0.5, 0.9]


def test_a_rate_that_is_absent_is_the_one_in_trial() -> None:
    space = {"batch_size": [16, 32], "learning_rate": {"values": [0.5], "when": {"batch_size": 32}}}
    found = plan(parsed(space, trial={"learning_rate": 0.2}))
    assert [(t.parameters["batch_size"], t.parameters["learning_rate"]) for t in found] == [(16, 0.2), (32, 0.5)]


def test_listed_settings_may_be_asked_for_and_may_lack_a_value() -> None:
    settings = [
        {"schedule.kind": "step", "schedule.factor": 0.5},
        {"schedule.kind": "cosine", "schedule.factor": None},
    ]
    space = {"points": settings, "momentum": {"values": [0.5, 0.9], "when": {"schedule.kind": "step"}}}
    trials = plan(parsed(space))
    assert pairs(trials) == [("step", 0.5), ("step", 0.5), ("cosine", None)]
    assert [trial.parameters["momentum"] for trial in trials] == [0.5, 0.9, None]


def test_true_is_not_1() -> None:
    factor = {"values": [1, 2], "when": {"a": True}}
    trial = {"command": ["p", "{a}", "{b}"]}
    assert len(plan(parsed({"a": [True, "1"], "b": factor}, trial=trial))) == 3


def test_a_spec_with_conditions_survives_the_store() -> None:
    rate = {"low": 0.1, "high": 0.3, "step": 0.1, "when": {"schedule.kind": ["cosine"]}}
    spec = parsed({**SPACE, "learning_rate": rate})
    assert SweepSpec.model_validate(spec.model_dump(mode="json")) == spec
    assert SweepSpec.model_validate(spec.model_dump(mode="json", exclude_defaults=True)) == spec


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (
            {"momentum": {"values": [0.5], "when": {"schedule.kind": "step"}}, "batch_size": [16]},
            "space.momentum.when.schedule.kind: is not swept; use one of workers, batch_size",
        ),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": {"schedule.kind": "steps"}}},
            "space.momentum.when.schedule.kind: 'steps' is not among its values; use some of 'constant', 'cosine', ",
        ),
        (
            {"momentum": {"values": [0.5], "when": {"momentum": 0.5}}},
            "space.momentum.when: asks for momentum; remove one of them",
        ),
        (
            {
                "momentum": {"values": [0.5], "when": {"batch_size": 16}},
                "batch_size": {"values": [16], "when": {"momentum": 0.5}},
            },
            "space.momentum.when: asks for batch_size and that for momentum; remove one of them",
        ),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": {"schedule.factor": 0.1, "schedule.kind": "cosine"}}},
            "space.momentum.when: never holds, as these values do not occur together",
        ),
        (
            {"workers": {"values": [1], "when": {"batch_size": 16}}, "batch_size": [16]},
            "space.workers.when: every trial",
        ),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": {}}},
            "space.momentum.when: names no field; give one with its",
        ),
        ({**SPACE, "momentum": {"values": [0.5], "when": None}}, "space.momentum.when: None is no mapping; write its"),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": "step"}},
            "space.momentum.when: 'step' is no mapping; write its",
        ),
        ({**SPACE, "momentum": {"values": [0.5]}}, "space.momentum.when: is missing; add it"),
        ({**SPACE, "momentum": {"when": {"workers": 1}}}, "space.momentum: has a condition and no values; add values"),
        (
            {**SPACE, "momentum": {"values": [0.5], "low": 0, "when": {"schedule.kind": "step"}}},
            "space.momentum: values and low exclude each other: keep one of them",
        ),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": {"schedule.kind": []}}},
            "space.momentum.when: schedule.kind has",
        ),
        (
            {**SPACE, "momentum": {"values": [0.5], "when": {"schedule.kind": [["step"]]}}},
            "space.momentum.when: ['step'] is no single value",
        ),
        ({**SPACE, "momentum": {"values": [], "when": {"schedule.kind": "step"}}}, "space.momentum: is empty"),
        ({**SPACE, "momentum": {"values": [2], "when": {"schedule.kind": "step"}}}, "space.momentum: 2"),
        ({**SPACE, "momentum": {**FACTOR, "wen": {}}}, "space.momentum.wen: unknown key; did you mean when?"),
    ],
)
def test_conditions_that_cannot_hold_are_refused(space: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        parsed(space)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(said)


def test_a_search_asks_for_values_that_recur_and_groups_that_all_trials_have() -> None:
    rate = {"low": 0.1, "high": 1}
    space = {"learning_rate": rate, "momentum": {"values": [0.5, 0.9], "when": {"learning_rate": 0.1}}}
    with pytest.raises(SpecError, match="takes any number between its bounds; give it a list, a step or a count"):
        parsed(space, search="random", trials=4)
    with pytest.raises(SpecError, match=r"objective.group_by: 'schedule.factor' is a field that only some trials have"):
        parsed(SPACE, search="random", trials=4, objective={"group_by": ["schedule.factor"]})
    with pytest.raises(SpecError, match=r"search.trials: 5 is more than the space has, 4"):
        parsed(SPACE, search="random", trials=5)


@pytest.mark.parametrize("method", ["random", "quasi-random"])
def test_sampled_points_have_a_field_where_its_condition_holds(method: str) -> None:
    space = {**SPACE, "learning_rate": {"low": 0.1, "high": 1, "when": {"schedule.kind": ["step", "cosine"]}}}
    trials = plan(parsed({**space, "batch_size": [16, 32]}, search=method, trials=40), first_points)
    assert len({trial.key for trial in trials}) == 40
    assert {kind for kind, _ in pairs(trials)} == set(KINDS)
    for trial in trials:
        kind, factor = trial.parameters["schedule.kind"], trial.parameters["schedule.factor"]
        assert (factor is not None) == (kind == "step")
        assert trial.parameters["learning_rate"] == 0.1 or kind != "constant"
    everything = plan(parsed(SPACE, search=method, trials=4), first_points)
    assert sorted(map(str, pairs(everything))) == sorted(map(str, pairs(plan(parsed(SPACE)))))


_VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True)


@st.composite
def _spaces(draw: st.DrawFn) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, list[int]]]]:
    """Parts and conditions; a field asks only for those before it, and all are put in another order then."""
    names = list("abcde")[: draw(st.integers(1, 5))]
    values = {name: draw(_VALUES) for name in names}
    asked = {
        name: {other: draw(_VALUES) for other in names[:place] if draw(st.booleans())}
        for place, name in enumerate(names)
    }
    conditions = {name: condition for name, condition in asked.items() if condition}
    order = draw(st.permutations(names))
    return {name: [{name: value} for value in values[name]] for name in order}, conditions


@given(_spaces())
def test_the_points_are_those_of_the_product_without_what_is_absent(
    space: tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, list[int]]]],
) -> None:
    parts, conditions = space
    product = [{n: v for row in rows for n, v in row.items()} for rows in itertools.product(*parts.values())]
    expected = {tuple(sorted(without_absent(point, conditions).items())) for point in product}
    found = [tuple(sorted(point.items())) for point in points(parts, conditions)]
    assert len(found) == len(set(found)) == count(parts, conditions)
    assert set(found) == expected
