"""A network of inception modules after GoogLeNet (Szegedy and others, Going deeper with convolutions, 2015)."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import torch
from torch import Tensor, nn

from engine.models.fully_connected import Fc, fully_connected
from engine.models.sizes import convolution, is_large

_DROPOUT = 0.4


@dataclass(frozen=True)
class Branches:
    """Outputs of an inception module's convolutions, as in the rows of the paper's table 1."""

    ones: int
    reduced_threes: int
    threes: int
    reduced_fives: int
    fives: int
    pooled: int

    @property
    def outputs(self) -> int:
        """Channels of all branches together."""
        return self.ones + self.threes + self.fives + self.pooled


# Modules 3a and 3b, 4a to 4e, 5a and 5b, with a pooling between the stages.
_STAGES = (
    (Branches(64, 96, 128, 16, 32, 32), Branches(128, 128, 192, 32, 96, 64)),
    (
        Branches(192, 96, 208, 16, 48, 64),
        Branches(160, 112, 224, 24, 64, 64),
        Branches(128, 128, 256, 24, 64, 64),
        Branches(112, 144, 288, 32, 64, 64),
        Branches(256, 160, 320, 32, 128, 128),
    ),
    (Branches(256, 160, 320, 32, 128, 128), Branches(384, 192, 384, 48, 128, 128)),
)
_FIRST = 192  # channels that the first module takes


class GoogLeNet(nn.Module):
    """Nine inception modules, the mean of the pixels, dropout, and one fully connected layer.

    Takes [n, channels, height, width], gives class scores [n, classes]. Convolutions have batch normalisation, and
    there are no classifiers on the way. From 64 pixels up it begins as published, with three convolutions and two
    poolings; smaller pictures meet one convolution of 3 x 3.
    """

    def __init__(self, channels: int, size: tuple[int, int], classes: int, fc: Fc = "torch") -> None:
        super().__init__()
        if is_large(size):
            layers: list[nn.Module] = [
                convolution(channels, 64, 7, stride=2),
                nn.MaxPool2d(3, 2, padding=1),
                convolution(64, 64, 1),
                convolution(64, _FIRST, 3),
                nn.MaxPool2d(3, 2, padding=1),
            ]
        else:
            layers = [convolution(channels, _FIRST, 3)]
        inputs = _FIRST
        for number, stage in enumerate(_STAGES):
            if number:
                layers.append(nn.MaxPool2d(3, 2, padding=1))
            for branches in stage:
                layers.append(Inception(inputs, branches))
                inputs = branches.outputs
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(_DROPOUT)
        self.classifier = fully_connected([inputs, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(self.dropout(self.features(pictures).mean((2, 3))))
        return scores


class Inception(nn.Module):
    """Convolutions of 1 x 1, 3 x 3 and 5 x 5 and a pooling side by side, each kept narrow by one of 1 x 1."""

    def __init__(self, inputs: int, branches: Branches) -> None:
        super().__init__()
        ones, reduced_threes, threes, reduced_fives, fives, pooled = astuple(branches)
        self.ones = convolution(inputs, ones, 1)
        self.threes = nn.Sequential(convolution(inputs, reduced_threes, 1), convolution(reduced_threes, threes, 3))
        self.fives = nn.Sequential(convolution(inputs, reduced_fives, 1), convolution(reduced_fives, fives, 5))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, 1, padding=1), convolution(inputs, pooled, 1))

    def forward(self, values: Tensor) -> Tensor:
        """The branches' channels one after another; the size stays."""
        return torch.cat([self.ones(values), self.threes(values), self.fives(values), self.pooled(values)], 1)
