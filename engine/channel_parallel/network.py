"""A whole network split over channels and filters."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from engine.channel_parallel.algorithms import Algorithm
from engine.channel_parallel.convolution import ChannelParallelConv2d
from engine.channel_parallel.grid import Parts, ProcessGrid
from engine.channel_parallel.layers import (
    ChannelParallelBatchNorm2d,
    ChannelParallelDropout,
    ChannelParallelLinear,
    ChannelParallelShortcut,
    OnOwnChannels,
    SummedLinear,
)
from engine.errors import ModelError
from engine.models.alexnet import AlexNet
from engine.models.resnet import Block, Bottleneck, PaddedShortcut, ResNet50, ResNetCifar
from engine.models.vgg import Vgg

# These do nothing to channels but by the layers in them: add them up, flatten them, average their pixels.
_CONTAINERS = (nn.Sequential, ResNetCifar, ResNet50, Block, Bottleneck, AlexNet, Vgg)
_POINTWISE = (nn.Identity, nn.Flatten, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh)
_POOLINGS = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)


class ChannelParallelNetwork(nn.Module):
    """A network of which each rank holds a part of every layer: pictures to class scores.

    It takes all channels of the pictures of this rank's row [n, channels, height, width], and gives their scores
    [n, classes], the same on all ranks of the row. A loss summed over them and divided by the samples of all rows has
    gradients that need nothing more: every rank's part of each weight has the gradient of the loss over all samples.
    Pictures get no gradient. All ranks must have the same random state. `network` has the names of the whole's layers.
    """

    def __init__(self, network: nn.Module, grid: ProcessGrid) -> None:
        super().__init__()
        self.network, self.grid = network, grid

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores of this row's pictures."""
        own = self.grid.parts(pictures.shape[1]).range(self.grid.channel)
        scores: Tensor = self.network(pictures[:, own])
        return scores


def split_network(
    network: nn.Module, grid: ProcessGrid, algorithm: Algorithm | Mapping[str, Algorithm] = "stationary-x"
) -> ChannelParallelNetwork:
    """`network` with each layer replaced by this rank's part of it; every rank must have the same one.

    Takes the built-in ResNets, AlexNet and VGGs, and stacks (nn.Sequential) of convolutions, batch normalisations,
    poolings, activations, dropout and fully connected layers, the last of which gives the scores. `algorithm` is one
    for all layers, or by the names of convolutions and hidden fully connected layers as in `named_modules`. The
    network itself is used up: its layers go into the result. Collective.

    Raises:
        ModelError: a layer that cannot be split, by its name.
        GridError: an algorithm that there is not.
    """
    linear = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    splitting = _Splitting(grid, algorithm, linear[-1] if linear else "")
    return ChannelParallelNetwork(splitting.split("", network), grid)


class _Splitting:
    """Goes through a network in the order of its layers, and knows how what comes out of the last one is split."""

    def __init__(self, grid: ProcessGrid, algorithm: Algorithm | Mapping[str, Algorithm], last: str) -> None:
        self._grid, self._algorithm, self._last = grid, algorithm, last
        self._parts = Parts(())  # of what the last layer gives

    def split(self, name: str, layer: nn.Module) -> nn.Module:
        if isinstance(layer, _CONTAINERS):
            for own, part in layer.named_children():
                setattr(layer, own, self.split(f"{name}.{own}" if name else own, part))
            return layer
        if isinstance(layer, _POINTWISE):
            return layer
        if isinstance(layer, _POOLINGS):
            return OnOwnChannels(layer)
        if isinstance(layer, nn.BatchNorm2d):
            return ChannelParallelBatchNorm2d(layer, self._grid)
        if isinstance(layer, nn.Dropout):
            return ChannelParallelDropout(layer.p, self._grid, self._parts)
        if isinstance(layer, PaddedShortcut):
            return ChannelParallelShortcut(layer.inputs, layer.outputs, layer.stride, self._grid)
        if isinstance(layer, nn.Conv2d):
            self._parts = self._grid.parts(layer.out_channels)
            return ChannelParallelConv2d(layer, self._grid, self._algorithm_of(name))
        if isinstance(layer, nn.Linear):
            return self._split_linear(name, layer)
        raise ModelError(
            f"model: layer {name or 'MODEL'!r} ({type(layer).__name__}) cannot be split over channels", _REMEDY
        )

    def _split_linear(self, name: str, layer: nn.Linear) -> nn.Module:
        channels = self._parts.whole
        if not channels or layer.in_features % channels:
            raise ModelError(
                f"model: layer {name!r} takes {layer.in_features} features, which {channels} channels do not come to",
                _REMEDY,
            )
        inputs = self._parts.times(layer.in_features // channels)
        if name == self._last:
            return SummedLinear(layer, self._grid, inputs)
        self._parts = self._grid.parts(layer.out_features)
        return ChannelParallelLinear(layer, self._grid, inputs, self._algorithm_of(name))

    def _algorithm_of(self, name: str) -> Algorithm:
        if not isinstance(self._algorithm, Mapping):
            return self._algorithm
        if name not in self._algorithm:
            raise ModelError(f"algorithm: names none for layer {name!r}", "give one for each layer, or one for all")
        return self._algorithm[name]


_REMEDY = "use a ResNet, AlexNet, a VGG or a stack of their layers, with `fc: torch`"
