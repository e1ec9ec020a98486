"""Residual networks (He, Zhang, Ren, Sun, Deep residual learning for image recognition, 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.models.fully_connected import Fc, fully_connected
from engine.models.sizes import convolution, is_large, normalised

_CIFAR_WIDTHS = (16, 32, 64)
_STAGES_OF_50 = ((64, 3), (128, 4), (256, 6), (512, 3))  # width within a block, and blocks
_EXPANSION = 4  # a bottleneck block's outputs to its width


class ResNetCifar(nn.Module):
    """The 6 n + 2 layers of section 4.2, for small pictures: 20, 32, 44, 56 for n of 3, 5, 7, 9.

    Takes [n, channels, height, width], gives class scores [n, classes]. Shortcuts have no parameters: where the size
    halves they skip every other pixel and add channels of zeros (option A). ResNet-20 has 269,722 parameters for 3
    channels and 10 classes.

    Raises:
        ValueError: a depth that is not 6 n + 2.
    """

    def __init__(self, channels: int, classes: int, depth: int, fc: Fc = "torch") -> None:
        super().__init__()
        blocks, rest = divmod(depth - 2, 6)
        if rest or blocks < 1:
            raise ValueError(f"depth {depth} is not 6 n + 2")
        layers: list[nn.Module] = [convolution(channels, _CIFAR_WIDTHS[0], 3)]
        inputs = _CIFAR_WIDTHS[0]
        for outputs in _CIFAR_WIDTHS:
            for _ in range(blocks):
                layers.append(Block(inputs, outputs))
                inputs = outputs
        self.features = nn.Sequential(*layers)
        self.classifier = fully_connected([inputs, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(_mean_of_pixels(self.features(pictures)))
        return scores


class ResNet50(nn.Module):
    """Fifty layers in bottleneck blocks, their stride in the 3 x 3 convolution, shortcuts by projection (option B).

    Takes [n, channels, height, width], gives class scores [n, classes]. From 64 pixels up it begins with a convolution
    of 7 x 7 and a pooling, which halve the size each: 25,557,032 parameters for 3 channels and 1000 classes. Smaller
    pictures meet one convolution of 3 x 3, as is usual for CIFAR-10.
    """

    def __init__(self, channels: int, size: tuple[int, int], classes: int, fc: Fc = "torch") -> None:
        super().__init__()
        inputs = _STAGES_OF_50[0][0]
        if is_large(size):
            layers: list[nn.Module] = [convolution(channels, inputs, 7, stride=2), nn.MaxPool2d(3, 2, padding=1)]
        else:
            layers = [convolution(channels, inputs, 3)]
        for stage, (width, blocks) in enumerate(_STAGES_OF_50):
            for block in range(blocks):
                layers.append(Bottleneck(inputs, width, stride=2 if stage and not block else 1))
                inputs = width * _EXPANSION
        self.features = nn.Sequential(*layers)
        self.classifier = fully_connected([inputs, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(_mean_of_pixels(self.features(pictures)))
        return scores


class Block(nn.Module):
    """Two convolutions of 3 x 3 and the shortcut."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.residual = nn.Sequential(
            convolution(inputs, outputs, 3, stride),
            *normalised(outputs, outputs, 3),
        )
        self.shortcut = nn.Identity() if inputs == outputs else PaddedShortcut(inputs, outputs, stride)

    def forward(self, values: Tensor) -> Tensor:
        return torch.relu(self.residual(values) + self.shortcut(values))


class PaddedShortcut(nn.Module):
    """Every `stride`th pixel of each row and column, and channels of zeros after those that are there (option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.stride = inputs, outputs, stride

    def forward(self, values: Tensor) -> Tensor:
        """[n, inputs, height, width] to [n, outputs, height / stride, width / stride], rounded up."""
        values = values[:, :, :: self.stride, :: self.stride]
        return functional.pad(values, (0, 0, 0, 0, 0, self.outputs - self.inputs))


class Bottleneck(nn.Module):
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1, and the shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * _EXPANSION
        self.residual = nn.Sequential(
            convolution(inputs, width, 1),
            convolution(width, width, 3, stride),
            *normalised(width, outputs, 1),
        )
        projects = stride > 1 or inputs != outputs
        self.shortcut = nn.Sequential(*normalised(inputs, outputs, 1, stride)) if projects else nn.Identity()

    def forward(self, values: Tensor) -> Tensor:
        return torch.relu(self.residual(values) + self.shortcut(values))


def _mean_of_pixels(maps: Tensor) -> Tensor:
    return maps.mean((2, 3))
