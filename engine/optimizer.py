"""Stochastic gradient descent over the flat parameters."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Optimizer

from engine.config import TrainingConfig
from engine.flat import FlatParameters

_PIECES = 48  # as many tensors as torch's fused kernel takes in one launch; each is a block's work at least


def make_optimizer(config: TrainingConfig, flat: FlatParameters) -> Optimizer:
    """SGD with momentum and weight decay, one kernel a step on a GPU.

    The velocity begins as zeros, which gives what torch does in making it of the first gradient, and lets a captured
    step be the first. On a GPU the rate lies there, so that it may change between captured steps.
    """
    on_gpu = flat.weights.device.type == "cuda"
    parameters = flat.optimizable(_PIECES if on_gpu else 1)
    rate = torch.tensor(config.learning_rate, device=flat.weights.device) if on_gpu else config.learning_rate
    optimizer = torch.optim.SGD(
        parameters,
        lr=rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        fused=True if on_gpu else None,
    )
    if config.momentum:
        velocities = torch.split(torch.zeros_like(flat.weights), len(parameters[0]))
        for parameter, velocity in zip(parameters, velocities, strict=True):
            optimizer.state[parameter]["momentum_buffer"] = velocity
    return optimizer


def velocities(optimizer: Optimizer) -> list[Tensor]:
    """What the optimiser keeps from step to step."""
    return [tensor for state in optimizer.state.values() for tensor in state.values()]


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """The learning rate of the steps that follow."""
    (group,) = optimizer.param_groups
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate
