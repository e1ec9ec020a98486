"""Networks and modules that the study counts beside the built-in ones."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.models.fully_connected import fully_connected
from engine.models.googlenet import Branches

PREVIOUS_LAYER = (256, 32, 32)  # what the modules take: channels, height, width
# The outputs of GoogLeNet's module 3b, which takes 256 channels too. The reductions to 64 are the study's assumption.
REDUCED = Branches(ones=128, reduced_threes=64, threes=192, reduced_fives=64, fives=96, pooled=64)
AS_3B = Branches(ones=128, reduced_threes=128, threes=192, reduced_fives=32, fives=96, pooled=64)


class TwoColumns(nn.Sequential):
    """AlexNet in two columns (Krizhevsky, Sutskever, Hinton, ImageNet classification, 2012; section 3.5, figure 2).

    Takes [n, 3, 227, 227], gives class scores [n, 1000]. The second, fourth and fifth convolution see the maps of their
    own column only, which is one of two groups. Local response normalisation has no parameters and is left out.
    """

    def __init__(self) -> None:
        pooling = nn.MaxPool2d(3, stride=2)
        super().__init__(
            *(nn.Conv2d(3, 96, 11, stride=4), nn.ReLU(), pooling),
            *(nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), pooling),
            *(nn.Conv2d(256, 384, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU()),
            *(nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), pooling),
            *(nn.Flatten(), fully_connected([256 * 6 * 6, 4096, 4096, 1000], "torch", dropout=0.5)),
        )


class NaiveInception(nn.Module):
    """The left of figure 2 (Szegedy and others, Going deeper with convolutions, 2015): no branch is reduced first.

    The pooling keeps all channels of its input.
    """

    def __init__(self, inputs: int, branches: Branches) -> None:
        super().__init__()
        self.ones = nn.Conv2d(inputs, branches.ones, 1, bias=False)
        self.threes = nn.Conv2d(inputs, branches.threes, 3, padding=1, bias=False)
        self.fives = nn.Conv2d(inputs, branches.fives, 5, padding=2, bias=False)
        self.pooled = nn.MaxPool2d(3, 1, padding=1)

    def forward(self, values: Tensor) -> Tensor:
        """The branches' channels one after another; the size stays."""
        return torch.cat([self.ones(values), self.threes(values), self.fives(values), self.pooled(values)], 1)


def stack(filters: int, side: int, channels: int) -> nn.Sequential:
    """Convolutions of `side` x `side`, one after another, each from `channels` to as many."""
    return nn.Sequential(*(nn.Conv2d(channels, channels, side, bias=False) for _ in range(filters)))
