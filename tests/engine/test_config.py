"""The settings of a training run, and the numbers that follow from them."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.budget import Budget
from engine.config import DATA, DEFAULT_BATCH_SIZE, MODELS, SAMPLES, ExchangeConfig, ParallelConfig, TrainingConfig


def test_the_batch_size_is_a_workers_and_the_global_one_everybodys() -> None:
    assert TrainingConfig().global_batch(4) == 4 * DEFAULT_BATCH_SIZE
    assert TrainingConfig(batch_size=16).global_batch(4) == 64
    assert TrainingConfig(global_batch_size=50).global_batch(4) == 50


def test_the_last_step_takes_what_is_left() -> None:
    assert TrainingConfig(images=100, global_batch_size=30).budget(1, 0).steps == 4
    assert TrainingConfig(images=90, batch_size=30).budget(1, 0).steps == 3
    assert TrainingConfig(images=10, batch_size=30).budget(2, 0).steps == 1


@pytest.mark.parametrize(
    ("fields", "images", "steps", "full_steps"),
    [
        ({}, 61_440, 240, 240),
        ({"images": 1_000}, 1_000, 4, 3),
        ({"epochs": 2}, 3_000, 12, 11),
        ({"epochs": 0.5}, 750, 3, 2),
        ({"epochs": 1e-9}, 1, 1, 0),
        ({"steps": 7}, 7 * 256, 7, 7),
        ({"steps": 7, "global_batch_size": 10}, 70, 7, 7),
    ],
)
def test_a_budget_is_of_images_epochs_or_steps(
    fields: dict[str, Any], images: int, steps: int, full_steps: int
) -> None:
    budget = TrainingConfig(**fields).budget(2, 1_500)
    assert (budget.images, budget.steps, budget.full_steps) == (images, steps, full_steps)
    assert budget.images_after(budget.steps - 1) == images
    assert budget.images_after(0) == min(budget.batch, images)


def test_a_budget_is_known_before_the_data_are() -> None:
    for data, samples in SAMPLES.items():
        budget = TrainingConfig(model="mine:net", data=data, epochs=3).known_budget(1)
        assert budget
        assert budget.images == 3 * samples
    assert SAMPLES.keys() == DATA.keys()
    assert TrainingConfig(data="mine:pictures", epochs=3).known_budget(1) is None
    assert TrainingConfig(data="mine:pictures", steps=3).known_budget(2) == Budget(768, 256, 300)


def test_one_budget_takes_the_place_of_the_default_only() -> None:
    assert "images" not in TrainingConfig().model_fields_set
    assert (TrainingConfig(epochs=1).images, TrainingConfig(steps=1).images) == (None, None)


def test_all_points_are_one_a_step() -> None:
    assert TrainingConfig(images=10**9, points="all").budget(1, 0).report_every == 1


@given(st.integers(1, 10**6), st.integers(1, 4096), st.integers(1, 8), st.integers(1, 1000))
def test_runs_of_any_batch_size_have_about_as_many_points(
    images: int, batch_size: int, workers: int, points: int
) -> None:
    config = TrainingConfig(images=images, batch_size=batch_size, points=points)
    budget = config.budget(workers, 0)
    steps, every = budget.steps, budget.report_every
    assert every >= 1
    reported = math.ceil(steps / every)
    assert min(steps, 0.7 * points) - 1 <= reported <= 1.5 * points + 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"batch_size": 1, "global_batch_size": 1}, "exclude each other"),
        ({"model": "neuron"}, "neuron cannot learn data fashion-mnist: use one of step-function"),
        ({"model": "resnet"}, "known are alexnet-cifar, alexnet, resnet-20.*or package.module:factory of your own"),
        ({"model": "networks:"}, "unknown name"),
        ({"model": "net works:make"}, "unknown name"),
        (
            {"model": "neuron", "data": "step-function", "augmentation": {"flip": True}},
            "augmentation is of pictures, and data step-function has none: remove it",
        ),
        ({"augmentation": {"instances": 0}}, "greater than 0"),
        ({"augmentation": {"shift": -1}}, "greater than or equal to 0"),
        ({"evaluate_every": 0}, "greater than 0"),
        ({"data": "imagenet"}, "known are fashion-mnist, cifar10, digits, synthetic, synthetic-224"),
        ({"images": True}, "expected a number"),
        ({"images": 10, "epochs": 1}, "images and epochs exclude each other: keep one of them"),
        ({"images": 10, "epochs": 1, "steps": 2}, "images and epochs and steps exclude each other"),
        ({"epochs": 0}, "greater than 0"),
        ({"epochs": math.inf}, "less than"),
        ({"steps": 1.5}, "fractional"),
        ({"points": "each"}, "is not a number of points; give a whole number, or all"),
        ({"momentum": 1}, "less than 1"),
        ({"learning_rate": math.inf}, "finite"),
        ({"weight_decay": math.nan}, "greater than or equal to 0|finite"),
        ({"images": 2**63}, "less than"),
        ({"lr": 0.1}, "Extra inputs"),
        ({"exchange": {"kind": "ring"}}, "Extra inputs"),
        (
            {"exchange": {"method": "ring", "algorithm": "tree"}},
            "algorithm is tree, which is NCCL's, and method ring: use method nccl",
        ),
        (
            {"parallel": {"channels": 2}},
            "channels is 2, and model alexnet-cifar cannot be split: use one of alexnet, resnet",
        ),
        (
            {"model": "resnet-20", "parallel": {"channels": 2}, "exchange": {"average": "weights"}},
            r"channels is 2, and exchange\.average is weights, of which each worker has others: use gradients",
        ),
        (
            {"model": "vgg11", "parallel": {"channels": 2}, "precision": "bf16"},
            "and precision is bf16, and split layers",
        ),
        ({"model": "vgg11", "parallel": {"channels": 2}, "compile": True}, "and compile is true, and split layers"),
        ({"parallel": {"channels": 0}}, "greater than 0"),
        (
            {"exchange": {"start": "own"}},
            "start is own, and averaged gradients fit one set of weights only: use average",
        ),
    ],
)
def test_settings_that_cannot_hold_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        TrainingConfig(**fields)


def test_workers_that_share_layers_have_one_batch() -> None:
    config = TrainingConfig(model="resnet-20", batch_size=32, parallel=ParallelConfig(channels=2))
    assert [config.global_batch(workers) for workers in (2, 4, 8)] == [32, 64, 128]
    assert config.budget(4, 0).batch == 64
    with pytest.raises(ValueError, match=r"workers: 3 is not a multiple of parallel\.channels, 2"):
        config.global_batch(3)
    one_batch = TrainingConfig(model="resnet-20", global_batch_size=48, parallel=ParallelConfig(channels=2))
    assert one_batch.global_batch(4) == 48


def test_every_model_has_data_that_it_can_learn() -> None:
    for model, pictures in MODELS.items():
        for data, is_pictures in DATA.items():
            if pictures == is_pictures:
                assert TrainingConfig(model=model, data=data).model == model


def test_models_and_data_may_be_the_users_own() -> None:
    config = TrainingConfig(model="mine.networks:small", data="mine:pictures")
    assert (config.model, config.data) == ("mine.networks:small", "mine:pictures")
    assert TrainingConfig(model="neuron", data="mine:numbers").data == "mine:numbers"
    assert TrainingConfig(model="mine:net", data="step-function").model == "mine:net"


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        TrainingConfig().images = 1


@given(
    st.builds(
        TrainingConfig,
        images=st.integers(1, 2**63 - 1),
        batch_size=st.none() | st.integers(1, 2**63 - 1),
        learning_rate=st.floats(0, exclude_min=True, allow_infinity=False),
        momentum=st.floats(0, 1, exclude_max=True),
        weight_decay=st.floats(0, allow_infinity=False),
        exchange=st.builds(ExchangeConfig, average=st.sampled_from(["gradients", "weights"])),
        seed=st.integers(0, 2**63 - 1),
    )
)
def test_settings_survive_json(config: TrainingConfig) -> None:
    assert TrainingConfig.model_validate_json(config.model_dump_json()) == config
    assert TrainingConfig.model_validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        ("engine.config, engine.protocol", ["torch", "mpi4py", "numpy", "sqlalchemy", "ray"]),
        ("sweeper, sweeper.plan, sweeper.ranking", ["torch", "mpi4py", "numpy", "sqlalchemy", "ray"]),
        ("sweeper.store", ["torch", "mpi4py", "ray", "alembic"]),
    ],
)
def test_light_modules_load_no_heavy_ones(modules: str, unwanted: list[str]) -> None:
    program = f"import sys, {modules}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not set(unwanted) & set(loaded)
