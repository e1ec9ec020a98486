"""Batch augmentation as Hoffer et al. have it, against a training that is written down plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from mpi4py import MPI
from torch import Tensor

from engine.config import TrainingConfig
from engine.data import DataSet, load
from engine.learner import Learner
from engine.models import build
from engine.protocol import Ended, Point, Started
from engine.trainer import train
from tests.engine.test_augmentation import splitmix

SHIFT, SEED = 3, 11
SETTINGS = {
    "model": "mlp",
    "data": "digits",
    "device": "cpu",
    "learning_rate": 0.01,
    "momentum": 0.9,
    "images": 40,
    "batch_size": 16,
    "points": "all",
    "seed": SEED,
}


def events_of(augmentation: dict[str, Any]) -> list[Any]:
    events: list[Any] = []
    settings = {**SETTINGS, "augmentation": {"flip": True, "shift": SHIFT, **augmentation}}
    train("t", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append)
    return events


def losses_of(augmentation: dict[str, Any]) -> list[float]:
    return [event.loss for event in events_of(augmentation) if isinstance(event, Point)]


def instance(data: DataSet, sample: int, position: int) -> Tensor:
    """The picture of a sample, flipped and then shifted by what is drawn for a position."""
    start = (SEED * 0xD1342543DE82EF95 + 1) % (1 << 64)
    down, right, mirrored = (
        (splitmix(8 * position + draw, start) >> 40) * choices >> 24
        for draw, choices in enumerate((2 * SHIFT + 1, 2 * SHIFT + 1, 2))
    )
    picture = (torch.from_numpy(data.inputs[sample]).float() / 255 - data.mean[0]) / data.std[0]
    if mirrored:
        picture = picture.flip(2)
    padded = torch.nn.functional.pad(picture, (SHIFT, SHIFT, SHIFT, SHIFT))
    return padded[:, down : down + picture.shape[1], right : right + picture.shape[2]]


def plainly(steps: list[list[tuple[int, int]]]) -> list[float]:
    """The loss of each step, before its update: each is a list of samples, with the position of what is drawn."""
    data = load("digits")
    torch.manual_seed(SEED)
    config = TrainingConfig.model_validate(SETTINGS)
    task = build(config, data)
    optimizer = torch.optim.SGD(task.module.parameters(), lr=config.learning_rate, momentum=config.momentum)
    losses = []
    for step in steps:
        inputs = torch.stack([instance(data, sample, position) for sample, position in step])
        targets = torch.from_numpy(data.targets[[sample for sample, _ in step]])
        loss = torch.nn.functional.cross_entropy(task.module(inputs), targets)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


def samples_of(count: int) -> list[int]:
    """The first samples that a run of this seed sees."""
    order = np.random.default_rng([SEED, 0]).permutation(1_497)
    return [int(sample) for sample in order[:count]]


@pytest.mark.parametrize("instances", [1, 2, 3])
def test_a_batch_has_all_instances_of_each_of_its_samples(instances: int) -> None:
    samples = samples_of(40)
    steps = [
        [(samples[n], n * instances + copy) for n in range(first, min(first + 16, 40)) for copy in range(instances)]
        for first in (0, 16, 32)
    ]
    assert [len(step) for step in steps] == [16 * instances, 16 * instances, 8 * instances]
    assert losses_of({"instances": instances}) == pytest.approx(plainly(steps), rel=1e-5)


def test_instances_that_count_themselves_are_what_they_were() -> None:
    samples = samples_of(14)
    steps = [[(samples[n // 3], n) for n in range(first, min(first + 16, 40))] for first in (0, 16, 32)]
    assert losses_of({"instances": 3, "batch": "instances"}) == pytest.approx(plainly(steps), rel=1e-5)


def test_images_count_samples() -> None:
    started, *points, ended = events_of({"instances": 4})
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert (started.effective["global_batch"], started.effective["instances"]) == (16, 64)
    assert [(point.step, point.images) for point in points] == [(1, 16), (2, 32), (3, 40)]
    assert (ended.steps, ended.images) == (3, 40)


def test_any_number_of_instances_has_the_same_epochs() -> None:
    for instances in (1, 8):
        for batch, images in (("samples", 2_994), ("instances", 2_994 * instances)):
            augmentation = {"instances": instances, "batch": batch}
            config = TrainingConfig.model_validate({"data": "digits", "epochs": 2, "augmentation": augmentation})
            budget = config.known_budget(1)
            assert budget
            assert budget.images == images


def test_every_image_computes_its_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    learn = Learner._learn

    def watched(self: Learner, module: Any, inputs: Tensor, targets: Tensor, images: int) -> None:
        computed.append(len(inputs))
        learn(self, module, inputs, targets, images)

    monkeypatch.setattr(Learner, "_learn", watched)
    events_of({"instances": 8})
    assert computed[-3:] == [128, 128, 64]
