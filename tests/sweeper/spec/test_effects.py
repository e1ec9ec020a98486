"""Swept fields without an effect: refused where no trial has any, noted where some have none."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.spec import SweepSpec, parse_spec
from tests.sweeper.specs import training


def parsed(space: dict[str, Any], **trial: Any) -> SweepSpec:
    return parse_spec({"name": "n", "trial": trial, "space": space})


WEIGHTS = {"exchange": {"average": "weights"}}


@pytest.mark.parametrize(
    ("trial", "space", "said"),
    [
        (
            {},
            {"schedule.factor": [0.1, 0.5]},
            "space.schedule.factor: has no effect in any trial; it needs schedule.kind: step",
        ),
        ({"schedule": "cosine"}, {"schedule.factor": [0.1, 0.5], "batch_size": [16, 32]}, "space.schedule.factor: has"),
        ({}, {"schedule.factor": [0.1, 0.5], "schedule.kind": ["constant", "cosine"]}, "space.schedule.factor: has"),
        ({}, {"augmentation.instances": [1, 2]}, "space.augmentation.instances: has no effect in any trial; it needs"),
        ({}, {"augmentation.batch": ["samples", "instances"]}, "space.augmentation.batch: has no effect"),
        (WEIGHTS, {"exchange.overlap": ["auto", "off"], "workers": [1, 2]}, "space.exchange.overlap: has no effect"),
        ({"exchange": "ring"}, {"exchange.overlap": ["auto", "off"], "workers": [2]}, "space.exchange.overlap: has no"),
        (
            {"exchange": "nccl"},
            {"exchange.algorithm": ["ring", "tree"], "workers": [2]},
            "space.exchange.algorithm: has no effect in any trial; it needs resources.gpus_per_worker above 0",
        ),
        (
            {},
            {"device": ["auto", "cpu"]},
            "space.device: has no effect in any trial; it needs resources.gpus_per_worker",
        ),
        (
            {"model": "resnet-20"},
            {"parallel.algorithm": ["stationary-x", "stationary-y"]},
            "space.parallel.algorithm: has no effect in any trial; it needs parallel.channels above 1",
        ),
        (
            {"model": "resnet-20", "parallel": {"channels": 2}},
            {"exchange.method": ["ring", "all-reduce"], "workers": [2]},
            "space.exchange.method: has no effect in any trial; it needs parallel.channels 1",
        ),
        ({"model": "neuron", "data": "step-function"}, {"fc": ["fused", "torch"]}, "space.fc: has no effect"),
    ],
)
def test_a_field_that_changes_nothing_is_refused(trial: dict[str, Any], space: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        parsed(space, **trial)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(said)
    SweepSpec.model_validate({"name": "n", "trial": trial, "space": space})  # a sweep of an earlier version goes on


@pytest.mark.parametrize(
    ("trial", "space"),
    [
        ({"schedule": "step"}, {"schedule.factor": [0.1, 0.5]}),
        ({}, {"schedule.factor": {"values": [0.1, 0.5], "when": {"schedule.kind": "step"}}, "schedule.kind": ["step"]}),
        ({"augmentation": {"flip": True}}, {"augmentation.instances": [1, 2]}),
        ({"augmentation": {"batch": "instances"}}, {"augmentation.instances": [1, 2]}),
        ({"model": "alexnet", "data": "synthetic-224"}, {"augmentation.instances": [1, 2]}),
        ({"model": "mine:network"}, {"augmentation.instances": [1, 2]}),
        ({}, {"learning_rate": [0.1, 0.2], "momentum": [0.0, 0.9], "seed": [0, 1], "points": [10, 20]}),
        ({}, {"schedule.factor": [0.5]}),
        ({}, {"exchange.overlap": ["auto", "off"], "exchange.method": ["ring", "all-reduce"], "workers": [2]}),
    ],
)
def test_a_field_that_changes_some_trials_passes(trial: dict[str, Any], space: dict[str, Any]) -> None:
    parsed(space, **trial)


def test_a_field_that_is_idle_in_some_trials_is_noted() -> None:
    factor, kinds = [0.1, 0.5], ["constant", "step"]
    (note,) = parsed({"schedule.factor": factor, "schedule.kind": kinds}).notes()
    assert note.startswith("space.schedule.factor: has no effect in some trials, for it needs schedule.kind: step;")
    once = {"values": factor, "when": {"schedule.kind": "step"}}
    assert parsed({"schedule.factor": once, "schedule.kind": kinds}).notes() == []
    (note,) = parsed({"exchange.method": ["ring", "all-reduce"]}).notes()
    assert note.startswith("space.exchange.method: has no effect in some trials, for it needs workers above 1")


def test_the_settings_say_which_of_them_are_idle() -> None:
    config = training(parsed({"workers": [1]}, schedule={"kind": "step", "milestones": []}).trial)
    assert config.idle(2, on_gpus=True).keys() >= {"schedule.factor", "augmentation.batch", "augmentation.instances"}
    assert "schedule.milestones" not in config.idle(2, on_gpus=True)
    assert "exchange.method" in config.idle(1, on_gpus=True).keys() - config.idle(2, on_gpus=True).keys()
