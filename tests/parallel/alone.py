"""Training in a single process, written down a second time: what every rank count must come to."""

from __future__ import annotations

import numpy as np
import torch

from engine.config import TrainingConfig
from engine.data import load
from engine.data.shards import Stream
from engine.models import build


def losses_of_steps(config: TrainingConfig, workers: int) -> list[float]:
    """Mean loss of each step's images, before the step's update, for the global batch of `workers` workers."""
    data = load(config.data)
    torch.manual_seed(config.seed)
    task = build(config, data)
    optimizer = torch.optim.SGD(
        task.module.parameters(),
        lr=config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    stream, losses, budget = Stream(len(data), config.seed), [], config.budget(workers, len(data))
    for start in range(0, budget.images, budget.batch):
        stop = min(start + budget.batch, budget.images)
        indices = stream.indices(start, stop)
        inputs, targets = torch.from_numpy(data.inputs[indices]), torch.from_numpy(data.targets[indices])
        if data.std:
            mean, std = (torch.tensor(values).view(1, -1, 1, 1) for values in (data.mean, data.std))
            inputs = (inputs.float() / 255 - mean) / std
        optimizer.zero_grad()
        loss = task.loss_sum(task.module(inputs), targets) / (stop - start)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of_points(config: TrainingConfig, workers: int) -> list[float]:
    """Mean loss over the images of each loss point."""
    budget = config.budget(workers, len(load(config.data)))
    batch, every = budget.batch, budget.report_every
    steps = losses_of_steps(config, workers)
    counts = [min(batch, budget.images - step * batch) for step in range(len(steps))]
    windows = range(0, len(steps), every)
    return [float(np.average(steps[i : i + every], weights=counts[i : i + every])) for i in windows]
