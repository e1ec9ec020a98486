"""From a spec to its trials: how many, in which order, with which ids."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given

from engine.config import TrainingConfig
from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import MAXIMUM_TRIALS, content_key, plan
from sweeper.plan.trial import TrialSpec
from sweeper.spec import Resources, SweepSpec, field_value, parse_spec
from sweeper.spec.repeats import planned_seeds
from tests.sweeper.specs import specs, training

SPACE = {"learning_rate": [0.1, 0.2], "batch_size": [16, 32], "workers": [2, 1]}


def planned(space: Any = SPACE, **fields: Any) -> Sequence[TrialSpec]:
    return plan(parse_spec({"name": "mine", "space": space, **fields}), first_points)


def faults(space: Any, **fields: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        planned(space, **fields)
    return caught.value.problems


def test_worker_counts_are_outermost_then_the_fields_as_written() -> None:
    points = [(t.workers, training(t.config).learning_rate, training(t.config).batch_size) for t in planned()]
    assert points == list(product([2, 1], [0.1, 0.2], [16, 32]))


def test_repeats_are_innermost_and_differ_in_their_seed() -> None:
    trials = planned({"batch_size": [16, 32]}, repeats=3, trial={"seed": 7})
    assert [(training(t.config).batch_size, training(t.config).seed) for t in trials] == list(
        product([16, 32], [7, 8, 9])
    )
    assert [t.parameters["seed"] for t in trials] == [7, 8, 9, 7, 8, 9]
    assert "seed" not in planned()[0].parameters


def test_parameters_always_tell_workers_batch_size_and_rate() -> None:
    (trial,) = planned({"momentum": [0.9]})
    assert trial.parameters == {"workers": 1, "batch_size": 128, "learning_rate": 0.1, "momentum": 0.9}
    (trial,) = planned({"workers": [2]}, trial={"global_batch_size": 64})
    assert trial.parameters == {"workers": 2, "global_batch_size": 64, "learning_rate": 0.1}
    (trial,) = planned({"exchange.average": ["weights"], "batch_size": [8]}, trial={"global_batch_size": 64})
    assert trial.parameters["exchange.average"] == "weights"
    assert (trial.parameters["batch_size"], "global_batch_size" in trial.parameters) == (8, False)


def test_workers_that_cannot_share_layers_are_named() -> None:
    trial = {"model": "resnet-20", "parallel": {"channels": 2}}
    assert faults({"workers": [2, 3]}, trial=trial) == [
        "space.workers: 3 is not a multiple of parallel.channels, 2: use multiples of 2, or list the pairs of both "
        "below space.points"
    ]
    swept = planned({"workers": [2, 4], "parallel.channels": [1, 2]}, trial={"model": "resnet-20", "batch_size": 8})
    batches = [training(one.config).global_batch(one.workers) for one in swept]
    assert batches == [16, 8, 32, 16]
    assert len({one.key for one in swept}) == 4


def test_ids_come_from_content_alone() -> None:
    keys = {trial.key for trial in planned()}
    reordered = {"workers": [1, 2], "batch_size": [32, 16.0], "learning_rate": {"low": 0.1, "high": 0.2, "step": 0.1}}
    assert {trial.key for trial in planned(reordered, name="other", repeats=1, objective={"threshold": 1})} == keys
    assert {trial.key for trial in planned(trial={"momentum": 0.0, "exchange": {"average": "gradients"}})} == keys
    assert keys.isdisjoint(trial.key for trial in planned(trial={"momentum": 0.5}))


def test_ids_tell_workers_and_resources_apart() -> None:
    config = TrainingConfig()
    keys = {
        content_key(config, 1, Resources()),
        content_key(config, 2, Resources()),
        content_key(config, 1, Resources(cpus_per_worker=2)),
        content_key(config, 1, Resources(gpus_per_worker=1)),
        content_key(config.model_copy(update={"seed": 1}), 1, Resources()),
    }
    assert len(keys) == 5


def test_a_fresh_process_plans_the_same_list() -> None:
    written = {"name": "mine", "space": SPACE, "repeats": 2}
    program = (
        "import json, sys; from sweeper.plan import plan; from sweeper.spec import parse_spec; "
        "print(json.dumps([[t.key, t.workers, t.parameters] for t in plan(parse_spec(json.load(sys.stdin)))]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(written),
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(said) == [[t.key, t.workers, t.parameters] for t in plan(parse_spec(written), first_points)]


def test_ids_stay_what_they_are() -> None:
    """Stores hold these: with another digest a sweep would not know its own trials again."""
    space = {"batch_size": [16], "workers": [1, 2]}
    server = {"exchange": {"method": "parameter-server"}}
    assert [trial.key for trial in planned(space, trial={"fc": "torch", **server})] == ["436d9e663214", "856c64e457aa"]
    assert [trial.key for trial in planned(space, trial=server)] == ["2a9fe1e277d4", "bb39e2d3c8f9"]
    augmented = {"augmentation": {"flip": True}}
    assert [trial.key for trial in planned(space, trial=augmented)] == ["9974aa68d419", "498291d59ffa"]


def test_instances_that_count_as_samples_make_another_trial() -> None:
    space = {"batch_size": [16], "workers": [1, 2]}
    keys = {
        batch: [t.key for t in planned(space, trial={"augmentation": {"instances": 4, "batch": batch}})]
        for batch in ("instances", "samples")
    }
    assert keys["instances"] == ["bad14475cf5e", "78ef45b97e2b"], "those that stores of earlier versions hold"
    assert not set(keys["samples"]) & set(keys["instances"])
    for batch in ("instances", "samples"):  # does not matter for one instance
        trials = planned(space, trial={"augmentation": {"flip": True, "batch": batch}})
        assert [t.key for t in trials] == ["9974aa68d419", "498291d59ffa"]


def test_images_must_do_for_one_step_of_the_largest_global_batch() -> None:
    space = {"batch_size": [16, 512], "workers": [1, 8]}
    assert len(planned(space, trial={"images": 4096})) == 4
    assert faults(space, trial={"images": 4095}) == [
        "trial.images: 4095 is too small for one step of the largest global batch, 4096 (workers 8); "
        "raise it to at least 4096, or remove that batch size or worker count"
    ]
    assert faults({"images": [100, 1000]}, trial={"batch_size": 200})[0].startswith("trial.images: 100 is too small")
    assert faults({"workers": [10**400]})[0].startswith("trial.images: 61440 is too small")


def test_epochs_must_do_for_a_step_too_and_steps_always_do() -> None:
    space = {"batch_size": [16, 512], "workers": [1, 8]}
    assert faults(space, trial={"data": "cifar10", "epochs": 0.05}) == [
        "trial.epochs: 0.05 of data cifar10 are 2500 images, too small for one step of the largest global batch, 4096 "
        "(workers 8); raise it to at least 0.082, or remove that batch size or worker count"
    ]
    assert len(planned(space, trial={"data": "cifar10", "epochs": 0.082})) == 4
    assert len(planned(space, trial={"data": "mine:pictures", "epochs": 1e-6})) == 4, "nobody knows their number yet"
    assert len(planned(space, trial={"steps": 1})) == 4


@pytest.mark.parametrize("epochs", [1e-9, 1e-4])
def test_the_epochs_that_a_refusal_asks_for_do(epochs: float) -> None:
    for batch_size, instances in product((*range(9, 1024, 7), 10**6), (1, 8)):
        augmentation = {"instances": instances, "batch": "instances"}
        trial = {"data": "cifar10", "batch_size": batch_size, "augmentation": augmentation if instances > 1 else {}}
        [fault] = faults({"learning_rate": [0.1]}, trial={**trial, "epochs": epochs / instances})
        told = float(fault.partition("at least ")[2].partition(",")[0])
        assert len(planned({"learning_rate": [0.1]}, trial={**trial, "epochs": told})) == 1, fault
        assert told <= 1.01 * batch_size / (50_000 * instances), "and hardly more than needed"


@pytest.mark.parametrize("name", ["images", "epochs", "steps"])
def test_any_budget_may_be_swept(name: str) -> None:
    for other in ("images", "epochs", "steps"):
        trials = planned({name: [20_000, 40_000], "workers": [2]}, trial={other: 30_000})
        assert [getattr(trial.config, name) for trial in trials] == [20_000, 40_000]
        assert [trial.parameters[name] for trial in trials] == [20_000, 40_000]
        assert len({trial.key for trial in trials}) == 2


def test_a_combination_that_cannot_be_trained_is_named() -> None:
    assert faults({"workers": [1, 2]}, repeats=2, trial={"seed": 2**63 - 1}) == [
        "trial.seed: 9223372036854775808 must be less than 9.22337e+18; give a smaller number (at workers=1)"
    ]


def test_more_trials_than_anybody_runs_are_refused_before_they_are_made() -> None:
    many = {"low": 1, "high": 10_000, "step": 1}
    assert faults({"seed": many, "points": many}) == [
        f"space: gives 100000000 trials, more than {MAXIMUM_TRIALS}; take fewer values or repeats"
    ]
    assert faults({"workers": [1]}, repeats=10**18)[0].startswith(f"space: gives {10**18} trials")


@given(specs())
def test_there_is_one_trial_a_point_and_repeat_each_with_its_own_id(spec: SweepSpec) -> None:
    trials = plan(spec, first_points)
    assert len(trials) == planned_seeds(spec.repeats) * math.prod(len(values) for values in spec.axes.values())
    assert len({trial.key for trial in trials}) == len(trials)
    assert plan(spec, first_points) == trials


@given(specs())
def test_each_trial_is_configured_as_its_parameters_say(spec: SweepSpec) -> None:
    for trial in plan(spec, first_points):
        assert trial.parameters["workers"] == trial.workers
        assert set(spec.axes) <= set(trial.parameters)
        for name in trial.parameters.keys() - {"workers", "batch_size"}:
            assert field_value(training(trial.config), name) == trial.parameters[name]
        if "batch_size" in trial.parameters:
            assert training(trial.config).global_batch(trial.workers) == trial.workers * trial.parameters["batch_size"]
        assert trial.resources == spec.resources
        assert json.loads(json.dumps(trial.parameters)) == trial.parameters
