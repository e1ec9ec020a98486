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


def plain_convolution(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """A convolution with a bias that keeps the size, ReLU.

    Without normalisation the weights alone decide how large values are many layers on. They begin as He, Zhang, Ren and
    Sun (Delving deep into rectifiers, 2015) have it, which keeps the size of values; torch's own let them vanish.
    """
    made = (PictureConv2d if inputs <= FEW_CHANNELS else nn.Conv2d)(inputs, outputs, kernel, padding=kernel // 2)
    nn.init.kaiming_normal_(made.weight, nonlinearity="relu")
    assert made.bias is not None
    nn.init.zeros_(made.bias)
    return nn.Sequential(made, nn.ReLU(inplace=True))


def normalised(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    """A convolution that keeps the size over its stride, and batch normalisation, whose shift makes a bias needless."""
    kind = PictureConv2d if inputs <= FEW_CHANNELS else nn.Conv2d
    return [kind(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(outputs)]
