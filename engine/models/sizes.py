"""What networks of two sizes share: small pictures, as CIFAR-10 and Fashion-MNIST have them, and large ones."""

from __future__ import annotations

from torch import nn

from engine.models.picture_convolution import FEW_CHANNELS, PictureConv2d

LARGE = 64  # pixels from which a network begins as its paper has it for 224; below, as is usual for 32


def is_large(size: tuple[int, int]) -> bool:
    """Whether pictures of `size` (height, width) are of the kind that ImageNet's networks were made for."""
    return min(size) >= LARGE


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the size over its stride, batch normalisation, ReLU."""
    return nn.Sequential(*normalised(inputs, outputs, kernel, stride), nn.ReLU(inplace=True))


def normalised(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    """A convolution that keeps the size over its stride, and batch normalisation, whose shift makes a bias needless."""
    kind = PictureConv2d if inputs <= FEW_CHANNELS else nn.Conv2d
    return [kind(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs)]
