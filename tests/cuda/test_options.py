"""What a trial may ask for besides training, on a GPU: as on the CPU, with steps captured in a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Evaluated, Point, Started
from engine.trainer import train

pytestmark = pytest.mark.skipif(not torch.cuda.device_count(), reason="no GPU")
PICTURES = {
    "model": "alexnet-cifar",
    "data": "digits",
    "learning_rate": 0.05,
    "momentum": 0.9,
    "precision": "float32",
    "images": 16 * 20 + 5,
    "batch_size": 16,
    "seed": 3,
    "points": 20,
}
OWN = "tests.engine.small_networks"


def events_of(settings: dict[str, Any], folder: Path | None = None, die_at: int | None = None) -> list[Any]:
    events: list[Any] = []

    def report(event: Any) -> None:
        events.append(event)
        if isinstance(event, Point) and event.images == die_at:
            raise InterruptedError

    config = TrainingConfig.model_validate({"device": "cuda", **settings})
    try:
        train("t", config, MPI.COMM_SELF, report, checkpoints=folder)
    except InterruptedError:
        assert die_at is not None
    return events


def losses(events: list[Any]) -> list[float]:
    return [event.loss for event in events if isinstance(event, Point)]


@pytest.mark.parametrize(
    "augmentation",
    [
        {"flip": True, "shift": 4, "cutout": 8},
        {"instances": 4, "shift": 2},
        {"instances": 4, "shift": 2, "batch": "instances"},
    ],
)
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_pictures_are_augmented_as_on_the_cpu(augmentation: dict[str, Any], precision: str) -> None:
    settings = {**PICTURES, "augmentation": augmentation, "precision": precision}
    here, there = losses(events_of(settings)), losses(events_of({**settings, "device": "cpu", "precision": "float32"}))
    assert here == pytest.approx(there, rel=2e-3 if precision == "float32" else 0.1)


def test_an_evaluation_is_as_on_the_cpu_and_leaves_no_trace() -> None:
    settings = {**PICTURES, "evaluate_every": 64}
    here, there = events_of(settings), events_of({**settings, "device": "cpu"})
    pairs = [[(e.loss, e.accuracy) for e in events if isinstance(e, Evaluated)] for events in (here, there)]
    assert len(pairs[0]) == len(pairs[1]) > 3
    assert pairs[0] == [pytest.approx(pair, rel=1e-2, abs=1e-2) for pair in pairs[1]]
    assert losses(here) == losses(events_of(PICTURES))


@pytest.mark.parametrize("model", ["alexnet-cifar", f"{OWN}:with_dropout", f"{OWN}:with_normalisation"])
def test_a_trial_goes_on_from_its_checkpoint(model: str, tmp_path: Path) -> None:
    settings = {**PICTURES, "model": model, "schedule": "cosine", "checkpoint_every": 80}
    whole = losses(events_of(settings))
    events_of(settings, tmp_path, die_at=16 * 13)
    started, *events = events_of(settings, tmp_path)
    assert isinstance(started, Started)
    assert started.effective["resumed_at_step"] == 10
    assert losses(events) == whole


@pytest.mark.parametrize("model", ["resnet-20", "vgg11", "googlenet", "alexnet", "mlp"])
def test_other_networks_are_captured_too(model: str) -> None:
    settings = {**PICTURES, "model": model, "learning_rate": 0.01, "images": 16 * 4}
    started, *events = events_of(settings)
    assert started.effective["captured"]
    assert all(loss == loss for loss in losses(events))
    if model in ("resnet-20", "mlp"):  # without dropout, which draws otherwise on a GPU
        assert losses(events) == pytest.approx(losses(events_of({**settings, "device": "cpu"})), rel=1e-2)


def test_a_compiled_network_learns_the_same() -> None:
    assert losses(events_of({**PICTURES, "compile": True})) == pytest.approx(losses(events_of(PICTURES)), rel=2e-3)
