"""Fully connected layers alone."""

from __future__ import annotations

from torch import Tensor, nn

from engine.models.fully_connected import Fc, fully_connected

HIDDEN = (512, 256)


class Mlp(nn.Module):
    """Hidden layers of 512 and 256 with ReLU: takes [n, ...] with `features` numbers each, gives [n, classes]."""

    def __init__(self, features: int, classes: int, fc: Fc = "torch") -> None:
        super().__init__()
        self.layers = fully_connected([features, *HIDDEN, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.layers(pictures.flatten(1))
        return scores
