"""Random and quasi-random points: as many as asked for, all different, each group its share."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from sweeper.guides.samplers import first_points, further_points
from sweeper.guides.samplers.points import sample
from sweeper.plan import plan
from sweeper.spec import SweepSpec, parse_spec

SPACE = {"learning_rate": {"low": 0.01, "high": 1, "log": True}, "batch_size": [16, 32, 64], "workers": [1, 2]}


def searched(method: str, trials: int, space: Any = None, **fields: Any) -> SweepSpec:
    return parse_spec({"name": "s", "space": space or SPACE, "search": method, "trials": trials, **fields})


@pytest.mark.parametrize("method", ["random", "quasi-random"])
def test_all_trials_are_planned_and_each_group_gets_its_share(method: str) -> None:
    trials = plan(searched(method, 25), first_points)
    assert len({trial.key for trial in trials}) == 25
    assert [trial.workers for trial in trials] == [1] * 13 + [2] * 12
    assert all(0.01 <= trial.parameters["learning_rate"] <= 1 for trial in trials)
    assert all(
        float(f"{trial.parameters['learning_rate']:.4g}") == trial.parameters["learning_rate"] for trial in trials
    )
    assert plan(searched(method, 25), first_points) == trials
    assert plan(parse_spec(searched(method, 25).model_dump(mode="json")), first_points) == trials
    other = searched(method, 25, search={"method": method, "seed": 1})
    assert plan(other, first_points) != trials


def test_repeats_are_of_each_point_and_count() -> None:
    trials = plan(searched("random", 12, repeats=3), first_points)
    assert len(trials) == 12
    points = Counter((t.workers, t.parameters["learning_rate"], t.parameters["batch_size"]) for t in trials)
    assert list(points.values()) == [3] * 4


@pytest.mark.parametrize("method", ["random", "quasi-random", "tpe"])
def test_a_small_space_is_used_to_its_last_point(method: str) -> None:
    space = {"batch_size": list(range(1, 1001)), "points": {"low": 1, "high": 3}, "workers": [1]}
    spec = searched(method, 3000, space)
    points = sample(spec, {"workers": 1}, 3000, [0])
    assert len({tuple(point.items()) for point in points}) == 3000
    assert len(sample(spec, {"workers": 1}, 4000, [0])) == 3000


def test_quasi_random_points_leave_fewer_gaps() -> None:
    def gap(method: str) -> float:
        trials = plan(searched(method, 64, {"momentum": {"low": 0, "high": 0.9}}), first_points)
        rates: list[float] = sorted(trial.parameters["momentum"] for trial in trials)
        return max(right - left for left, right in pairwise(rates))

    assert gap("quasi-random") < 2 * 0.9 / 64 < gap("random")


def test_groups_that_are_not_counted_are_drawn_like_the_rest() -> None:
    space = {"workers": {"low": 1, "high": 8}, "learning_rate": {"low": 0.1, "high": 1}}
    trials = plan(searched("random", 50, space), first_points)
    assert {trial.workers for trial in trials} == set(range(1, 9))


def test_learning_searches_begin_with_a_third_of_each_share() -> None:
    assert Counter(trial.workers for trial in plan(searched("tpe", 24), first_points)) == {1: 4, 2: 4}
    assert Counter(trial.workers for trial in plan(searched("gp", 200), first_points)) == {1: 10, 2: 10}
    assert Counter(trial.workers for trial in plan(searched("cma-es", 24), first_points)) == {1: 2, 2: 2}
    assert Counter(trial.workers for trial in plan(searched("tpe", 2), first_points)) == {1: 1, 2: 1}


@pytest.mark.parametrize("method", ["random", "quasi-random"])
def test_a_search_that_goes_on_draws_what_a_larger_one_would_have_drawn(method: str) -> None:
    few, many = searched(method, 10), searched(method, 16)
    there = [trial.parameters for trial in plan(few, first_points)]
    further = further_points(many, there)
    assert len(further) == 6
    assert {frozenset(one.items()) for one in [*there, *further]} == {
        frozenset(one.items()) for one in first_points(many)
    }


def test_a_search_goes_on_in_a_wider_space_up_to_its_number() -> None:
    there = [trial.parameters for trial in plan(searched("random", 10), first_points)]
    wider = searched("random", 16, {**SPACE, "workers": [1, 2, 4], "batch_size": [16, 128]})
    further = further_points(wider, there)
    assert Counter(point["workers"] for point in further) == {1: 1, 4: 5}
    assert {point["batch_size"] for point in further} <= {16, 128}
    assert further_points(searched("random", 11, repeats=1), there[:11]) != []
    assert further_points(searched("random", 10), there) == []
