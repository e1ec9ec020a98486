"""What a spec may say of a search, and how what does not fit is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import outermost, plan
from sweeper.spec import SweepSpec, parse_spec
from sweeper.spec.command import CommandConfig
from sweeper.spec.dimensions import Choices, Interval
from sweeper.spec.search import Search

SPACE = {"learning_rate": {"low": 0.01, "high": 1, "log": True}, "batch_size": [64, 16], "workers": [1, 2]}


def searched(space: Any = None, **fields: Any) -> SweepSpec:
    return parse_spec({"name": "s", "space": SPACE if space is None else space, "search": "tpe", "trials": 20} | fields)


def test_trials_may_stand_beside_the_search_or_in_it() -> None:
    beside, inside = searched(), searched(search={"method": "tpe", "trials": 20}, trials=None)
    assert beside == inside
    assert beside.search == Search(method="tpe", trials=20, seed=0, study="group")
    assert parse_spec(beside.model_dump(mode="json")) == beside
    assert searched(search={"method": "gp", "seed": 3}).search.seed == 3


def test_a_range_without_steps_is_all_numbers_in_between_and_the_rest_is_chosen_by_place() -> None:
    spec = searched({**SPACE, "momentum": {"low": 0, "high": 0.9}, "points": {"low": 5, "high": 9}, "fc": ["torch"]})
    assert spec.dimensions == {
        "workers": Choices((1, 2)),
        "learning_rate": Interval(0.01, 1.0, log=True, whole=False),
        "batch_size": Choices((16, 64)),
        "momentum": Interval(0.0, 0.9, log=False, whole=False),
        "points": Interval(5.0, 9.0, log=False, whole=True),
        "fc": Choices(("torch",)),
    }
    stepped = searched(
        {"learning_rate": {"low": 0.1, "high": 0.9, "step": 0.4}, "workers": [1]}, search="random", trials=3
    )
    assert stepped.dimensions["learning_rate"] == Choices((0.1, 0.5, 0.9))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999999])
def test_a_share_of_the_way_and_back(share: float) -> None:
    for dimension in (
        Choices((1, 2, 8)),
        Choices(("a", "b")),
        Interval(0.01, 1.0, log=True, whole=False),
        Interval(-1.0, 1.0, log=False, whole=False),
        Interval(1.0, 9.0, log=False, whole=True),
        Interval(1.0, 900.0, log=True, whole=True),
    ):
        value = dimension.at(share)
        coordinate = dimension.coordinate(value)
        assert coordinate is not None
        assert dimension.value(coordinate) == value
    assert Interval(0.01, 1.0, log=True, whole=False).at(0.5) == 0.1
    assert [Interval(1.0, 3.0, log=False, whole=True).at(share) for share in (0, 0.5, 0.99)] == [1, 2, 3]
    assert Choices((1, 2)).coordinate(3) is None
    assert Interval(0.0, 1.0, log=False, whole=False).coordinate("a") is None


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"trials": None}, "search: tpe needs to know how many trials to take; add trials, such as 40"),
        ({"search": "random", "trials": 0}, "search.trials: 0 must be greater than 0; give a larger number"),
        ({"search": {"method": "tpe", "trials": 4}}, "trials: 20 is given beside search and in it; keep one of them"),
        ({"trials": 1}, "search.trials: 1 is too few for 2 groups; give at least 2"),
        ({"trials": 20, "repeats": 3}, "search.trials: 20 is no multiple of repeats, 3; give 21"),
        (
            {"space": {"batch_size": [16, 32], "workers": [1, 2]}, "trials": 5},
            "search.trials: 5 is more than the space has, 4; use search: grid",
        ),
        (
            {
                "search": "cma-es",
                "space": {"learning_rate": {"low": 0.1, "high": 1}, "workers": [1, 2], "fc": ["fused", "torch"]},
            },
            "search.method: cma-es needs two swept fields of numbers besides the groups'; use tpe or gp",
        ),
        (
            {"space": {**SPACE, "workers": {"low": 1, "high": 4}}},
            "space.workers: groups need values that recur; give a list, a step or a count",
        ),
        (
            {"space": {"learning_rate": {"low": -1, "high": 1}}},
            "space.learning_rate: -1.0 must be greater than 0; give a larger number",
        ),
        (
            {"space": {"points": {"low": 1.5, "high": 4}}},
            "space.points: 1.5 is no whole number; give one",
        ),
        ({"trials": 200_000}, "search.trials: 200000 is more than 100000; take fewer"),
        (
            {"space": {**SPACE, "model": ["mlp", "neuron"], "data": ["digits", "step-function"]}},
            "trial: model mlp cannot learn data step-function: use one of fashion-mnist, cifar10, digits, synthetic, "
            "synthetic-224 (at workers=1, learning_rate=1.0, batch_size=64, model=mlp, data=step-function)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_field_value_and_remedy(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(SpecError) as caught:
        plan(searched(**fields), first_points)
    assert caught.value.problems == [fault]


def test_a_grid_takes_no_number_of_trials_and_few_searches_a_shared_study() -> None:
    with pytest.raises(
        SpecError, match="search: trials 20 does nothing with a grid, which takes all points; remove it"
    ):
        searched(search="grid")
    with pytest.raises(SpecError, match="search: study: shared is for tpe and gp, and method is random; remove it"):
        searched(search={"method": "random", "study": "shared"})


def test_the_outermost_trials_ask_for_all_that_any_may_need() -> None:
    spec = searched({**SPACE, "data": ["cifar10", "digits"], "workers": [1, 2, 8]})
    trials = outermost(spec)
    assert {trial.workers for trial in trials} == {1, 2, 8}
    assert {trial.parameters["data"] for trial in trials} == {"cifar10", "digits"}
    assert {trial.parameters["learning_rate"] for trial in trials} == {0.01, 1.0}
    with pytest.raises(SpecError, match="images: 100 is too small for one step of the largest global batch, 128"):
        plan(searched(trial={"images": 100}), first_points)


def test_a_commands_names_are_sampled_as_it_is_to_see_them() -> None:
    command = {"command": ["train", "{rate}", "{kind}", "{depth}"]}
    space = {
        "rate": {"low": 0.001, "high": 1, "log": True},
        "kind": ["a", "b"],
        "depth": {"low": 1, "high": 4, "step": 1},
    }
    trials = plan(searched(space, trial=command, search="random", trials=30), first_points)
    assert len({trial.key for trial in trials}) == 30
    assert {trial.parameters["depth"] for trial in trials} == {1, 2, 3, 4}
    assert {trial.parameters["kind"] for trial in trials} == {"a", "b"}
    assert isinstance(trials[0].config, CommandConfig)
    assert trials[0].config.words(1) == ["train", *(str(trials[0].parameters[name]) for name in space)]


def test_a_grid_loads_neither_optuna_nor_torch() -> None:
    code = """
import sys
import sweeper, sweeper.cli.run, sweeper.plan, sweeper.spec
sweeper.plan.plan(sweeper.spec.parse_spec({"name": "s", "space": {"batch_size": [16, 32]}}))
print([name for name in ("optuna", "torch", "ray", "scipy", "cmaes") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
