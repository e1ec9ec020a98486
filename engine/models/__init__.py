"""Models by name; `engine.config.MODELS` lists the names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.config import MODELS, TrainingConfig, is_factory
from engine.data import DataSet
from engine.errors import ModelError
from engine.factories import FactoryError, find_factory
from engine.models.alexnet import AlexNet
from engine.models.alexnet_cifar import AlexNetCifar
from engine.models.fully_connected import Fc
from engine.models.googlenet import GoogLeNet
from engine.models.mlp import Mlp
from engine.models.neuron import Neuron
from engine.models.resnet import ResNet50, ResNetCifar
from engine.models.vgg import DEPTHS, Vgg

__all__ = ["AlexNetCifar", "ModelError", "Neuron", "Task", "build", "correct", "make_network"]

_NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.GroupNorm, nn.LayerNorm)
UNIFORM_BOUND = 0.05  # report 7: larger initial weights made the gradients explode


def _cross_entropy_sum(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="sum")


def _squared_error_sum(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.mse_loss(outputs, targets, reduction="sum")


@dataclass(frozen=True)
class Task:
    """A network and what it minimises: `loss_sum(outputs, targets)` is the loss summed over the batch, a scalar."""

    module: nn.Module
    loss_sum: Callable[[Tensor, Tensor], Tensor]

    @classmethod
    def of(cls, module: nn.Module, targets_are_classes: bool) -> Task:
        """Cross-entropy where targets are classes, the squared error where they are numbers."""
        return cls(module, _cross_entropy_sum if targets_are_classes else _squared_error_sum)


def correct(outputs: Tensor, targets: Tensor) -> Tensor:
    """How many of a batch are right, a scalar: the class with the highest score, or numbers within a half.

    Targets are int64 classes [n] or numbers [n, k]; of a sample's numbers all must be right.
    """
    if targets.is_floating_point():
        return ((outputs - targets).abs() < 0.5).flatten(1).all(1).sum()
    return (outputs.argmax(1) == targets).sum()


def build(config: TrainingConfig, data: DataSet) -> Task:
    """The network of `config` for samples of `data`, its weights drawn from torch's global random state.

    Raises:
        OperatorsError: `config` asks for the compiled operators, and they are missing or stale.
        FactoryError: a model of the user's own cannot be had, or is none.
        ModelError: the network does not take pictures of this size.
    """
    task = _own_task(config, data) if is_factory(config.model) else _known_task(config, data)
    if config.initial_weights == "uniform":
        with torch.no_grad():
            for parameter in _not_of_normalisation(task.module):
                parameter.uniform_(-UNIFORM_BOUND, UNIFORM_BOUND)
    return task


def _not_of_normalisation(module: nn.Module) -> Iterator[nn.Parameter]:
    """The parameters but for the scales and shifts of normalisation, which begin as 1 and 0."""
    kept = {id(own) for part in module.modules() if isinstance(part, _NORMALISATIONS) for own in part.parameters(False)}
    return (parameter for parameter in module.parameters() if id(parameter) not in kept)


def make_network(name: str, sample_shape: tuple[int, ...], classes: int, fc: Fc = "torch") -> nn.Module:
    """A network by one of the names of `MODELS`, for samples of [channels, height, width], or [features].

    Raises:
        OperatorsError: `fc` is "fused", and the compiled operators are missing or stale.
        ValueError: the network does not take pictures of this size.
    """
    return _NETWORKS[name](sample_shape, classes, fc)


def _known_task(config: TrainingConfig, data: DataSet) -> Task:
    if MODELS[config.model] != data.pictures:
        kinds = ("pictures", "plain numbers") if data.pictures else ("plain numbers", "pictures")
        problem = f"its samples are {kinds[0]}, and the network takes {kinds[1]}"
        raise ModelError(f"trial.model: {config.model} cannot learn data {data.name}: {problem}", "use another")
    try:
        module = make_network(config.model, data.sample_shape, data.classes, config.fc)
    except ValueError as error:
        raise ModelError(f"trial.model: {config.model} cannot learn data {data.name}: {error}", "use another") from None
    return Task.of(module, not data.numbers)


def _own_task(config: TrainingConfig, data: DataSet) -> Task:
    """What the user's `factory(sample_shape, classes)` makes: a module, or a `Task` with a loss of its own."""
    made = find_factory("trial.model", config.model)(data.sample_shape, data.classes)
    if isinstance(made, Task):
        return made
    if not isinstance(made, nn.Module):
        raise FactoryError(
            f"trial.model: {config.model!r} gave a {type(made).__name__}",
            "return a torch.nn.Module or an engine.models.Task",
        )
    return Task.of(made, not data.numbers)


Shape = tuple[int, ...]
Network = Callable[[Shape, int, Fc], nn.Module]


def _resnet(depth: int) -> Network:
    return lambda shape, classes, fc: ResNetCifar(shape[0], classes, depth, fc)


def _vgg(depth: int, *, normalised: bool) -> Network:
    return lambda shape, classes, fc: Vgg(shape[0], _size(shape), classes, depth, fc, normalised=normalised)


def _size(shape: Shape) -> tuple[int, int]:
    return shape[1], shape[2]


_NETWORKS: dict[str, Network] = {
    "alexnet-cifar": lambda shape, classes, fc: AlexNetCifar(shape[0], _size(shape), classes, fc),
    "alexnet": lambda shape, classes, fc: AlexNet(shape[0], _size(shape), classes, fc),
    **{f"resnet-{depth}": _resnet(depth) for depth in (20, 32, 44, 56)},
    "resnet-50": lambda shape, classes, fc: ResNet50(shape[0], _size(shape), classes, fc),
    **{f"vgg{depth}": _vgg(depth, normalised=True) for depth in DEPTHS},
    **{f"vgg{depth}-plain": _vgg(depth, normalised=False) for depth in DEPTHS},
    "googlenet": lambda shape, classes, fc: GoogLeNet(shape[0], _size(shape), classes, fc),
    "mlp": lambda shape, classes, fc: Mlp(math.prod(shape), classes, fc),
    "neuron": lambda shape, classes, fc: Neuron(shape[0]),  # noqa: ARG005 - one neuron tells two classes apart
}
assert _NETWORKS.keys() == MODELS.keys()
