"""Trials that never learnt: by hand, and on a sweep recorded on one GPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recorded import read_recorded
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, best_per_group
from sweeper.ranking.chance import chance_limit, is_at_chance
from sweeper.ranking.curve import minimum_loss
from sweeper.ranking.settings import as_one

TEN = 0.95 * math.log(10)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model": "alexnet-cifar", "data": "cifar10"}, TEN),
        ({"model": "mlp", "data": "digits"}, TEN),
        ({"model": "neuron", "data": "step-function"}, None),  # numbers, not classes
        ({"model": "mine:Network", "data": "cifar10"}, None),  # may have a loss of its own
        ({"model": "mlp", "data": "mine:pictures"}, None),
        ({"command": ["python", "train.py"]}, None),
        ({}, None),  # an import
    ],
)
def test_the_limit_is_known_of_built_in_models_on_data_with_classes(
    config: dict[str, Any], expected: float | None
) -> None:
    assert chance_limit(config) == expected


@pytest.mark.parametrize(
    ("state", "loss", "limit", "expected"),
    [
        (TrialState.COMPLETED, TEN, TEN, True),
        (TrialState.COMPLETED, math.nextafter(TEN, 0), TEN, False),
        (TrialState.COMPLETED, math.log(10), TEN, True),
        (TrialState.COMPLETED, None, TEN, False),
        (TrialState.COMPLETED, 5.0, None, False),
        (TrialState.DIVERGED, TEN, TEN, False),
        (TrialState.PRUNED, TEN, TEN, False),  # nobody knows what it would have come to
        (TrialState.RUNNING, TEN, TEN, False),
    ],
)
def test_a_completed_trial_is_at_chance_unless_it_came_below(
    state: TrialState, loss: float | None, limit: float | None, expected: bool
) -> None:
    assert is_at_chance(state, loss, limit) == expected


def test_groups_count_those_that_learnt_nothing_and_a_setting_is_as_its_seeds() -> None:
    def trial(seed: int, state: TrialState = TrialState.COMPLETED, **fields: Any) -> Candidate:
        values = {"workers": 1, "learning_rate": 0.1, "seed": seed}
        return Candidate(f"t{seed}", values, state, state is TrialState.COMPLETED, 1.0, 2.3, **fields)

    trials = [trial(1, at_chance=True), trial(2), trial(3, TrialState.DIVERGED), trial(4, at_chance=True)]
    (group,) = best_per_group(trials, 1.8)
    assert (group.trials, group.diverged, group.at_chance) == (4, 1, 2)
    assert as_one(trials[:2]).at_chance
    assert not as_one([trials[1], trials[2]]).at_chance


def test_of_the_recorded_sweep_twelve_curves_are_at_chance(recorded_data: Callable[[str], Path]) -> None:
    """AlexNet-CIFAR on CIFAR-10, says its README. Others end near chance, and came lower for a while."""
    recorded = read_recorded(recorded_data("recorded-sweep"))
    limit = chance_limit({"model": "alexnet-cifar", "data": "cifar10"})
    curves, at_chance = set(), []
    for trial, one in recorded.items():
        parameters = one.parameters
        candidate = one.candidate(trial)
        curve = parameters["workers"] * parameters["batch_size"], parameters["learning_rate"]
        curves.add(curve)
        if is_at_chance(candidate.state, minimum_loss(one.points), limit):
            at_chance.append(curve)
    assert (len(recorded), len(curves)) == (216, 81)
    assert (len(at_chance), len(set(at_chance))) == (18, 12)
