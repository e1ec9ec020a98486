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
_NETWORKS = (ResNetCifar, ResNet50, AlexNet, Vgg)
_CONTAINERS = (nn.Sequential, Block, Bottleneck, *_NETWORKS)
_POINTWISE = (nn.Identity, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Tanh)
_POOLINGS = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)
_REMEDY = "use a ResNet, AlexNet, a VGG or a stack of their layers, with `fc: torch`"


class ChannelParallelNetwork(nn.Module):
    """A network of which each rank holds a part of every layer: pictures to class scores.

    It takes all channels of the pictures of this rank's row [n, channels, height, width], and gives their scores
    [n, classes], the same on all ranks of the row. A loss summed over them and divided by the samples of all rows has
    gradients that need nothing more: every rank's part of each weight has the gradient of the loss over all samples.
    Pictures get no gradient. All ranks must have the same random state. `network` has the names of the whole's layers.
    """

    def __init__(self, network: nn.Module, grid: ProcessGrid, channels: int) -> None:
        super().__init__()
        self.network, self.grid, self.channels = network, grid, channels

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores of this row's pictures.

        Raises:
            ModelError: pictures with more or fewer than `channels` channels.
        """
        if pictures.shape[1] != self.channels:
            raise ModelError(
                f"pictures: have {pictures.shape[1]} channels, and the network takes {self.channels}",
                f"give it pictures with {self.channels}",
            )
        own = self.grid.parts(self.channels).range(self.grid.channel)
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
        ModelError: a layer that cannot be split or stands where it cannot, by its name.
        GridError: an algorithm that there is not.
    """
    _refuse_shared_layers(network)
    named = list(network.named_modules())
    linear = [name for name, layer in named if isinstance(layer, nn.Linear)]
    splitting = _Splitting(grid, algorithm, linear[-1] if linear else "")
    split = splitting.split("", network)
    if not splitting.scored:
        name, layer = named[-1]
        raise _refusal(name, layer, "is the last one, and only an nn.Linear gives scores", "end with an nn.Linear")
    return ChannelParallelNetwork(split, grid, splitting.channels)


def _refuse_shared_layers(network: nn.Module) -> None:
    """Raises ModelError for a layer in two places: its part would have to fit both."""
    seen: set[nn.Module] = set()
    for name, layer in network.named_modules(remove_duplicate=False):
        if layer in seen and not isinstance(layer, _POINTWISE):
            raise _refusal(name, layer, "stands in two places", "make a layer of its own for each")
        seen.add(layer)


class _Splitting:
    """Goes through a network in the order of its layers, and knows how what comes out of the last one is split."""

    def __init__(self, grid: ProcessGrid, algorithm: Algorithm | Mapping[str, Algorithm], last: str) -> None:
        self._grid, self._algorithm, self._last = grid, algorithm, last
        self._parts = Parts(())  # of what the last layer gives, in channels until a fully connected layer
        self._flat = False
        self._unsized: list[ChannelParallelDropout] = []  # since the channels were flattened
        self.channels = 0  # of pictures
        self.scored = False

    def split(self, name: str, layer: nn.Module) -> nn.Module:
        if isinstance(layer, _CONTAINERS):
            return self._split_container(name, layer)
        if isinstance(layer, _POINTWISE):
            return layer
        if isinstance(layer, nn.Flatten):
            return self._flatten(name, layer)
        if self.scored:
            raise _refusal(name, layer, f"comes after {self._last!r}, which gives the scores", "leave it out")
        if isinstance(layer, _POOLINGS):
            return OnOwnChannels(layer)
        if isinstance(layer, nn.BatchNorm2d):
            return ChannelParallelBatchNorm2d(layer, self._grid)
        if isinstance(layer, nn.Conv2d):
            return self._split_convolution(name, layer)
        if isinstance(layer, PaddedShortcut):
            self._parts = self._grid.parts(layer.outputs)
            return ChannelParallelShortcut(layer.inputs, layer.outputs, layer.stride, self._grid)
        if isinstance(layer, nn.Dropout):
            return self._split_dropout(name, layer)
        if isinstance(layer, nn.Linear):
            return self._split_linear(name, layer)
        raise _refusal(name, layer, "cannot be split over channels")

    def _split_container(self, name: str, layer: nn.Module) -> nn.Module:
        for own, part in layer.named_children():
            if isinstance(layer, _NETWORKS) and own == "classifier":
                self._flat = True  # by the network itself
            setattr(layer, own, self.split(f"{name}.{own}" if name else own, part))
        return layer

    def _flatten(self, name: str, layer: nn.Flatten) -> nn.Module:
        if (layer.start_dim, layer.end_dim) != (1, -1):
            raise _refusal(name, layer, "does not flatten each sample as a whole", "use nn.Flatten()")
        self._flat = True
        return layer

    def _split_convolution(self, name: str, layer: nn.Conv2d) -> nn.Module:
        if layer.groups > 1:
            raise _refusal(name, layer, f"has {layer.groups} groups, and a part sums over all channels", "use 1 group")
        self.channels = self.channels or layer.in_channels
        self._parts = self._grid.parts(layer.out_channels)
        return ChannelParallelConv2d(layer, self._grid, self._algorithm_of(name))

    def _split_dropout(self, name: str, layer: nn.Dropout) -> nn.Module:
        self._check_after_convolution(name, layer)
        split = ChannelParallelDropout(layer.p, self._grid, self._parts)
        if self._flat:
            self._unsized.append(split)
        return split

    def _split_linear(self, name: str, layer: nn.Linear) -> nn.Module:
        self._check_after_convolution(name, layer)
        if not self._flat:
            raise _refusal(name, layer, "gets maps that are not flattened", "put an nn.Flatten() before it")
        channels = self._parts.whole
        if layer.in_features % channels:
            raise _refusal(name, layer, f"takes {layer.in_features} features, which {channels} channels do not come to")
        inputs = self._parts.times(layer.in_features // channels)
        for dropout in self._unsized:
            dropout.features = inputs
        self._unsized.clear()
        if name == self._last:
            self.scored = True
            return SummedLinear(layer, self._grid, inputs)
        self._parts = self._grid.parts(layer.out_features)
        return ChannelParallelLinear(layer, self._grid, inputs, self._algorithm_of(name))

    def _check_after_convolution(self, name: str, layer: nn.Module) -> None:
        if not self._parts.sizes:
            raise _refusal(name, layer, "comes before the first convolution")

    def _algorithm_of(self, name: str) -> Algorithm:
        if not isinstance(self._algorithm, Mapping):
            return self._algorithm
        if name not in self._algorithm:
            raise ModelError(f"algorithm: names none for layer {name!r}", "give one for each layer, or one for all")
        return self._algorithm[name]


def _refusal(name: str, layer: nn.Module, why: str, remedy: str = _REMEDY) -> ModelError:
    return ModelError(f"model: layer {name or 'MODEL'!r} ({type(layer).__name__}) {why}", remedy)
