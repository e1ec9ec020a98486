"""Stochastic gradient descent over the flat parameters."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Optimizer

from engine.config import TrainingConfig
from engine.flat import FlatParameters


def make_optimizer(config: TrainingConfig, flat: FlatParameters) -> Optimizer:
    """SGD with momentum and weight decay, one kernel a step on a GPU.

    The velocity begins as zeros, which gives what torch does in making it of the first gradient, and lets a captured
    step be the first. On a GPU the rate lies there, so that it may change between captured steps.
    """
    parameter = flat.optimizable()
    on_gpu = flat.weights.device.type == "cuda"
    rate = torch.tensor(config.learning_rate, device=flat.weights.device) if on_gpu else config.learning_rate
    optimizer = torch.optim.SGD(
        [parameter],
        lr=rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        fused=True if on_gpu else None,
    )
    if config.momentum:
        optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(flat.weights)
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
