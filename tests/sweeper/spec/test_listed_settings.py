"""`space.points` as a list of settings: taken together, crossed with other fields, refused by the line."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.plan import plan
from sweeper.spec import SweepSpec, parse_spec

WINNERS = [
    {"workers": 2, "batch_size": 256, "learning_rate": 0.5},
    {"workers": 1, "batch_size": 64, "learning_rate": 0.1},
]


def spec_of(space: Any, **fields: Any) -> SweepSpec:
    return parse_spec({"name": "mine", "space": space, **fields})


def test_settings_are_taken_together_and_crossed_with_other_fields() -> None:
    trials = plan(spec_of({"points": WINNERS, "momentum": [0.0, 0.9]}))
    assert [trial.parameters for trial in trials] == [
        {**setting, "momentum": momentum} for setting, momentum in product(WINNERS, [0.0, 0.9])
    ]


def test_worker_counts_of_another_field_are_outermost() -> None:
    settings = [{"batch_size": 16, "learning_rate": 0.1}, {"batch_size": 32, "learning_rate": 0.2}]
    trials = plan(spec_of({"points": settings, "workers": [2, 1]}))
    assert [(trial.workers, trial.parameters["batch_size"]) for trial in trials] == [(2, 16), (2, 32), (1, 16), (1, 32)]


def test_its_trials_are_those_of_a_grid_with_the_same_values() -> None:
    listed = plan(spec_of({"points": WINNERS}))
    grid = plan(spec_of({"workers": [2, 1], "batch_size": [256, 64], "learning_rate": [0.5, 0.1]}))
    assert {trial.key for trial in listed} < {trial.key for trial in grid}


def test_numbers_below_points_still_sweep_the_loss_points() -> None:
    assert [trial.parameters["points"] for trial in plan(spec_of({"points": [10, 20]}))] == [10, 20]


def test_a_stored_spec_with_settings_is_read_again() -> None:
    spec = spec_of({"points": WINNERS, "seed": [1, 2]}, repeats=1)
    again = parse_spec(spec.model_dump(mode="json"))
    assert again == spec
    assert plan(again) == plan(spec)


def test_settings_of_a_command_fill_its_words() -> None:
    spec = spec_of({"points": [{"lr": 0.5, "depth": 2}]}, trial={"command": ["train", "{lr}", "{depth}"]})
    (trial,) = plan(spec)
    assert trial.config.words(1) == ["train", "0.5", "2"]  # type: ignore[union-attr]


def test_a_name_that_a_command_does_not_use_is_named_with_its_setting() -> None:
    with pytest.raises(SpecError) as caught:
        spec_of({"points": [{"lr": 0.5, "depth": 2}]}, trial={"command": ["train", "{lr}"]})
    assert caught.value.problems[0].startswith("space.points[0].depth: the command does not use it")


def test_true_and_1_are_two_settings() -> None:
    spec = spec_of({"points": [{"a": 1}, {"a": True}]}, trial={"command": ["train", "{a}"]})
    assert [trial.config.words(1)[1] for trial in plan(spec)] == ["1", "True"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("space", "line"),
    [
        ({"points": [{"workers": 2}, 5]}, "space.points[1]: 5 stands among settings"),
        ({"points": [{"workers": 2}, {"batch_size": 1}]}, "space.points[1]: not all settings have"),
        ({"points": [{"workers": 2}, {"workers": 2}]}, "space.points[1]: {'workers': 2} is given twice"),
        ({"points": [{"workers": [1, 2]}]}, "space.points[0].workers: [1, 2] is not a single value"),
        ({"points": [{}]}, "space.points: a setting is empty"),
        ({"points": [{"workers": 2, "bach": 1}]}, "space.points[0].bach: unknown key"),
        ({"points": [{"workers": 1}, {"workers": 0}]}, "space.points[1].workers: 0 is not a worker count"),
        ({"points": [{"workers": None}]}, "space.points[0].workers: None is not a worker count"),
        (
            {"points": [{"momentum": 0.5}, {"momentum": 0}, {"momentum": 2}]},
            "space.points[2].momentum: 2 must be less than 1",
        ),
        ({"points": [{"exchange": "ring"}]}, "space.points[0].exchange: is a group of fields"),
        ({"points": [{"workers": 2}], "workers": [1]}, "space.workers: is a field of space.points, too"),
        ({"batch_size": [{"workers": 2}]}, "settings taken together go below space.points"),
    ],
)
def test_what_is_no_list_of_settings_is_refused_in_one_line(space: Any, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_of(space)
    (problem,) = caught.value.problems
    assert line in problem


def test_a_search_refuses_settings() -> None:
    with pytest.raises(SpecError) as caught:
        spec_of({"points": WINNERS}, search="random", trials=2)
    (problem,) = caught.value.problems
    assert problem.startswith("space.points: is a list of settings, and search: random")
