"""One neuron with a sigmoid, as in the paper's section 3."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Neuron(nn.Module):
    """sigmoid(w x + b): takes [n, features], gives [n, 1] in (0, 1)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, 1)

    def forward(self, values: Tensor) -> Tensor:
        """The neuron's output [n, 1]."""
        return torch.sigmoid(self.linear(values))
