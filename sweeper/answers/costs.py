"""What a network costs, as an answer: the numbers of `engine.costs`, in all and layer by layer."""

from __future__ import annotations

from typing import Any

from engine.config import is_factory

# The shape of samples, and how many classes they have, that a network is usually counted for.
_AS_PUBLISHED = ((3, 224, 224), 1000)
_SMALL = ((3, 32, 32), 10)
_USUAL: dict[str, tuple[tuple[int, ...], int]] = {"mlp": ((1, 28, 28), 10), "neuron": ((1,), 2)}
_PUBLISHED = ("alexnet", "vgg", "resnet-50", "googlenet")


def costs_answer(model: str, sample_shape: tuple[int, ...] | None, classes: int | None, batch: int) -> dict[str, Any]:
    """The costs of a model for samples of this shape, [channels, height, width] or [features], and so many classes.

    Memory is in bytes, for training in float32 with this batch size. Without a shape, the one in the model's paper is
    taken.

    Raises:
        FactoryError, ModelError: as `engine.costs.costs_of`.
    """
    from engine.costs import costs_of  # which imports torch

    usual_shape, usual_classes = usual_samples(model)
    shape, classes = sample_shape or usual_shape, classes or usual_classes
    costs = costs_of(model, shape, classes)
    return {
        "model": model,
        "input": list(shape),
        "classes": classes,
        "batch_size": batch,
        "parameters": costs.parameters,
        "weights": costs.weights,
        "activations": costs.activations,
        "multiply_adds": costs.multiply_adds,
        "memory_bytes": costs.memory(batch),
        "layers": [
            {
                "name": layer.name,
                "kind": layer.kind,
                "output": list(layer.output),
                "activations": layer.activations,
                "parameters": layer.parameters,
                "weights": layer.parameters - layer.biases,
                "multiply_adds": layer.multiply_adds,
                "receptive_field": list(layer.receptive_field) if layer.receptive_field else None,
                "memory_bytes": layer.memory(batch),
            }
            for layer in costs.layers
        ],
    }


def usual_samples(model: str) -> tuple[tuple[int, ...], int]:
    """The shape of samples, and how many classes, where nothing is said of them."""
    if is_factory(model) or not model.startswith(_PUBLISHED) or model == "alexnet-cifar":
        return _USUAL.get(model, _SMALL)
    return _AS_PUBLISHED
