"""What the study counts: layers of networks and modules, from a forward pass of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from engine.costs import costs_of_module
from engine.models import make_network
from engine.models.googlenet import Inception
from experiments.costs.networks import AS_3B, PREVIOUS_LAYER, REDUCED, NaiveInception, TwoColumns, stack
from experiments.study import Study

ALEXNET, TWO_COLUMNS, VGG19, INCEPTION, STACKS = "alexnet", "two-columns", "vgg19", "inception", "stacks"
_PICTURE, _CLASSES = (3, 224, 224), 1000
_STACKS = ((2, 3), (3, 3), (5, 3), (2, 5), (3, 5), (2, 7))  # filters, and their side
_CHANNELS = 64


def run(study: Study) -> None:
    """Count everything, which takes seconds."""
    for name, rows in counted().items():
        study.record(name, rows)


def counted() -> dict[str, list[dict[str, Any]]]:
    """The rows of each table."""
    with torch.device("meta"):
        return {
            ALEXNET: list(_layers(make_network("alexnet", _PICTURE, _CLASSES), _PICTURE)),
            TWO_COLUMNS: list(_layers(TwoColumns(), (3, 227, 227))),
            VGG19: list(_layers(make_network("vgg19-plain", _PICTURE, _CLASSES), _PICTURE)),
            INCEPTION: [
                {"module": name, **row} for name, module in _modules() for row in _layers(module, PREVIOUS_LAYER)
            ],
            STACKS: [_stack(filters, side) for filters, side in _STACKS],
        }


def _modules() -> Iterator[tuple[str, nn.Module]]:
    inputs = PREVIOUS_LAYER[0]
    yield "naive", NaiveInception(inputs, REDUCED)
    yield "reduced", Inception(inputs, REDUCED)
    yield "GoogLeNet's 3b", Inception(inputs, AS_3B)


def _layers(module: nn.Module, sample_shape: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """A row a layer, with the shape of its weight."""
    for layer in costs_of_module(module, sample_shape).layers:
        weight = getattr(module.get_submodule(layer.name), "weight", None)
        yield {**asdict(layer), "weight": [] if weight is None else list(weight.shape)}


def _stack(filters: int, side: int) -> dict[str, Any]:
    counts = costs_of_module(stack(filters, side, _CHANNELS), (_CHANNELS, 64, 64))
    seen = counts.layers[-1].receptive_field
    assert seen is not None
    one = costs_of_module(stack(1, seen[0], _CHANNELS), (_CHANNELS, 64, 64))
    return {"filters": filters, "side": side, "field": seen[0], "weights": counts.weights, "one": one.weights}
