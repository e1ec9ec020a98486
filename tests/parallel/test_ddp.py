"""The curve of PyTorch's DistributedDataParallel, from the same seed, with the same data order and precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from mpi4py import MPI
from torch.distributed import ProcessGroup
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from engine.config import TrainingConfig
from engine.data import load
from engine.data.shards import Stream, share
from engine.models import build
from engine.protocol import Point
from engine.trainer import train
from tests.parallel.process_group import gloo

pytestmark = pytest.mark.parallel
WORLD = MPI.COMM_WORLD
BATCH_SIZE = 8


@pytest.mark.skipif(WORLD.size > 2, reason="gloo's ranks and ours spin on cores that they would have to share")
@pytest.mark.parametrize(("model", "data", "steps"), [("mlp", "digits", 200), ("alexnet-cifar", "synthetic", 60)])
def test_the_first_steps_are_ddps_within_rounding(model: str, data: str, steps: int) -> None:
    """Where alexnet-cifar leaves its plateau, after these, rounding grows tenfold every few steps, in DDP too."""
    config = TrainingConfig.model_validate(
        {
            "model": model,
            "data": data,
            "images": steps * BATCH_SIZE * WORLD.size,
            "batch_size": BATCH_SIZE,
            "learning_rate": 0.005 if model == "mlp" else 0.01,
            "momentum": 0.9,
            "weight_decay": 0.004,
            "points": steps,
            "precision": "float32",
            "device": "cpu",
            "seed": 7,
        }
    )
    events: list[Any] = []
    train("t", config, WORLD, events.append)
    ours = [event.loss for event in events if isinstance(event, Point)]
    with gloo(WORLD) as group:
        theirs = losses_of_ddp(config.model_copy(update={"fc": "torch"}), group)
    if WORLD.rank == 0:
        assert len(ours) == steps
        assert min(ours) < 0.98 * ours[0]
        assert ours == pytest.approx(theirs, rel=1e-4, abs=5e-4)


def losses_of_ddp(config: TrainingConfig, group: ProcessGroup) -> list[float]:
    """Mean loss of each step's images, over all ranks."""
    data = load(config.data)
    torch.manual_seed(config.seed)
    model = DistributedDataParallel(build(config, data).module, process_group=group)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=config.learning_rate, momentum=config.momentum, weight_decay=config.weight_decay
    )
    stream, losses = Stream(len(data), config.seed), []
    mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (data.mean, data.std))
    batch = config.global_batch(WORLD.size)
    for start in range(0, config.budget(WORLD.size, len(data)).images, batch):
        indices = stream.indices(*share(start, start + batch, WORLD.rank, WORLD.size))
        pictures = (torch.from_numpy(data.inputs[indices]).float() / 255 - mean) / std
        optimizer.zero_grad()
        loss = cross_entropy(model(pictures), torch.from_numpy(data.targets[indices]))
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(WORLD.allreduce(loss.item()) / WORLD.size)
    return losses
