"""The fully connected layers of a network: by the project's operators or by torch's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

from engine.operators import OperatorsError

Fc = Literal["fused", "torch"]


def fully_connected(widths: Sequence[int], fc: Fc, dropout: float = 0.0) -> nn.Sequential:
    """Layers from the first width to the last, with ReLU between them; the same initial values either way.

    With `dropout` above 0 that part of each hidden layer's outputs is dropped in training.

    Raises:
        OperatorsError: "fused" is asked for, and the compiled operators are missing or stale.
    """
    if fc == "fused":
        use_operators()
        from cuda_ext import FusedMLP

        if not dropout:
            return FusedMLP(widths)
    layers: list[nn.Module] = []
    last = len(widths) - 2
    for number, (inputs, outputs) in enumerate(pairwise(widths)):
        layers += _layer(inputs, outputs, fc, relu=number < last)
        if dropout and number < last:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)


def _layer(inputs: int, outputs: int, fc: Fc, relu: bool) -> list[nn.Module]:
    if fc == "fused":
        from cuda_ext import FusedLinear

        return [FusedLinear(inputs, outputs, "relu" if relu else "none")]
    return [nn.Linear(inputs, outputs), *([nn.ReLU()] if relu else [])]


def use_operators() -> None:
    """Load the compiled operators, once a process; raises OperatorsError where they cannot be loaded."""
    from cuda_ext.load import ExtensionError, load_operators

    try:
        load_operators()
    except ExtensionError as error:
        raise OperatorsError(error.problem, f"{error.remedy}, or set trial.fc to torch") from None
