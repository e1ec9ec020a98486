"""Models by name; `engine.config.MODELS` lists the names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.config import MODELS, TrainingConfig
from engine.data import DataSet
from engine.models.alexnet_cifar import AlexNetCifar
from engine.models.neuron import Neuron

__all__ = ["AlexNetCifar", "Neuron", "Task", "build"]

UNIFORM_BOUND = 0.05  # report 7: larger initial weights made the gradients explode


@dataclass(frozen=True)
class Task:
    """A network and what it minimises: `loss_sum(outputs, targets)` is the loss summed over the batch, a scalar."""

    module: nn.Module
    loss_sum: Callable[[Tensor, Tensor], Tensor]


def build(config: TrainingConfig, data: DataSet) -> Task:
    """The network of `config` for samples of `data`, its weights drawn from torch's global random state.

    Raises OperatorsError where `config` asks for the compiled operators and they are missing or stale.
    """
    task = _BUILDERS[config.model](config, data)
    if config.initial_weights == "uniform":
        with torch.no_grad():
            for parameter in task.module.parameters():
                parameter.uniform_(-UNIFORM_BOUND, UNIFORM_BOUND)
    return task


def _alexnet_cifar(config: TrainingConfig, data: DataSet) -> Task:
    channels, height, width = data.sample_shape
    return Task(AlexNetCifar(channels, (height, width), data.classes, config.fc), _cross_entropy_sum)


def _neuron(_: TrainingConfig, data: DataSet) -> Task:
    return Task(Neuron(data.sample_shape[0]), _squared_error_sum)


def _cross_entropy_sum(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="sum")


def _squared_error_sum(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.mse_loss(outputs, targets, reduction="sum")


_BUILDERS: dict[str, Callable[[TrainingConfig, DataSet], Task]] = {"alexnet-cifar": _alexnet_cifar, "neuron": _neuron}
assert _BUILDERS.keys() == MODELS.keys()
