"""Training on GPUs, captured in a CUDA graph: the losses of a single process on the CPU."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Ended, Point, Started
from engine.trainer import train
from tests.mpi_job import mpi_job
from tests.parallel.alone import losses_of_points

GPUS = torch.cuda.device_count()
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU")
PICTURES = {
    "model": "alexnet-cifar",
    "data": "digits",
    "learning_rate": 0.05,
    "momentum": 0.9,
    "weight_decay": 0.004,
    "precision": "float32",
    "device": "cuda",
    "images": 16 * 20 + 5,
    "global_batch_size": 16,
    "seed": 3,
}


def trained(settings: dict[str, Any]) -> tuple[Started, list[float], Ended]:
    events: list[Any] = []
    train("t", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append)
    started, *points, ended = events
    return started, [point.loss for point in points if isinstance(point, Point)], ended


def expected(settings: dict[str, Any], workers: int = 1) -> Any:
    return pytest.approx(losses_of_points(TrainingConfig.model_validate(settings), workers), rel=2e-3)


@pytest.mark.parametrize("method", ["auto", "parameter-server", "ring"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
def test_losses_are_those_of_a_single_process_on_the_cpu(method: str, average: str) -> None:
    settings = {**PICTURES, "exchange": {"method": method, "average": average}}
    started, losses, ended = trained(settings)
    assert started.effective["captured"]
    assert ended.outcome == "completed"
    assert losses == expected(settings)


def test_a_trial_gives_the_same_losses_again() -> None:
    assert trained(PICTURES)[1] == trained(PICTURES)[1]


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_other_precisions_learn_the_same(precision: str) -> None:
    started, losses, _ = trained({**PICTURES, "precision": precision})
    assert started.effective["precision"] == precision
    assert losses == pytest.approx(trained(PICTURES)[1], rel=0.1)


def test_steps_of_averaged_weights_and_steps_of_ones_own_are_two_graphs() -> None:
    settings = {**PICTURES, "exchange": {"average": "weights", "every": 3}}
    assert trained(settings)[1] == expected(settings)


def test_numbers_train_as_pictures_do() -> None:
    settings = {"model": "neuron", "data": "step-function", "learning_rate": 0.5, "images": 640, "batch_size": 16}
    assert trained({**settings, "device": "cuda"})[1] == expected(settings)


def test_divergence_is_seen() -> None:
    _, losses, ended = trained({**PICTURES, "images": 16 * 200, "points": 50, "learning_rate": 1e30})
    assert ended.outcome == "diverged"
    assert len(losses) < 50


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("method", ["auto", "nccl", "parameter-server", "all-reduce", "hierarchical"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
def test_ranks_on_gpus_train_as_one_process_does(ranks: int, method: str, average: str) -> None:
    settings = {**PICTURES, "global_batch_size": 25, "images": 410, "exchange": {"method": method, "average": average}}
    with mpi_job(ranks, "-m", "tests.cuda.trained", json.dumps(settings)) as job:
        said, errors = job.communicate(timeout=120)
    if method == "nccl" and ranks > GPUS:
        assert "nccl needs a GPU for every rank, and ranks 0 and" in errors
        return
    assert job.returncode == 0, errors
    found = json.loads(said)
    assert found["losses"] == expected(settings, ranks)
    if method == "auto":
        assert found["exchange"] == f"{'nccl' if ranks <= GPUS else 'all-reduce'}, {average} averaged"
