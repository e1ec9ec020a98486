"""The fully connected layers of a network: by the project's operators or by torch's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

from engine.operators import check_operators


def fully_connected(widths: Sequence[int], fc: Literal["fused", "torch"]) -> nn.Sequential:
    """Layers from the first width to the last, with ReLU between them; the same initial values either way.

    Raises:
        OperatorsError: "fused" is asked for, and the compiled operators are missing or stale.
    """
    if fc == "fused":
        check_operators()
        from cuda_ext import FusedMLP

        return FusedMLP(widths)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
