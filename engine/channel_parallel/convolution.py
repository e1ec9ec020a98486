"""A convolution split over its input channels and filters."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.channel_parallel.algorithms import Algorithm
from engine.channel_parallel.grid import ProcessGrid
from engine.channel_parallel.layers import on_own_channels
from engine.channel_parallel.shapes import padded_before
from engine.channel_parallel.split_layer import SplitLayer
from engine.channel_parallel.stationary import Cut, Pair, Windows
from engine.errors import ModelError


class ChannelParallelConv2d(SplitLayer):
    """This rank's part of an nn.Conv2d: [n, own channels, height, width] to [n, own filters, height, width].

    n are the samples of this rank's row of the grid; `grid.parts` says which channels are whose. `weight` is
    [filters of the filter peers, channels of the channel peers, height, width], `bias` [own filters]; both are the
    same in all rows of the grid, and so are their gradients, which are sums over the samples of all rows. They begin
    with the values of `whole`, which every rank must have alike. Any stride, padding and dilation; products are
    computed in the type of the weights, also under autocast. `algorithm` and `filters` are `ProcessGrid.placement`'s.
    Making one and calling it are collective.

    Raises:
        ModelError: `whole` has groups.
        GridError: an algorithm that there is not.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(
        self,
        whole: nn.Conv2d,
        grid: ProcessGrid,
        algorithm: Algorithm = "stationary-x",
        filters: int | None = None,
    ) -> None:
        super().__init__()
        if whole.groups != 1:
            raise ModelError(
                f"groups: is {whole.groups}, and a convolution split over channels sums over all of them", "use 1 group"
            )
        padding, self._padded_before, self._padding_mode = _padding(whole)
        self.cut = Cut(
            Windows(cast(Pair, whole.stride), padding, cast(Pair, whole.dilation)),
            grid.placement(algorithm, filters),
            grid.parts(whole.in_channels),
            grid.parts(whole.out_channels),
            grid.among_samples,
        )
        self.hold("weight", whole.weight, *self.cut.weight_indices())
        self.hold("bias", whole.bias, self.cut.filters.indices(grid.channel))

    def forward(self, x: Tensor) -> Tensor:
        """This rank's filters of its samples."""
        if self._padded_before:
            x = on_own_channels(lambda own: F.pad(own, self._padded_before, self._padding_mode), x)
        with torch.autocast(x.device.type, enabled=False):
            return self.cut.apply(x.to(self.weight.dtype), self.weight, self.bias)


def _padding(whole: nn.Conv2d) -> tuple[Pair, list[int], str]:
    """The zeros on both sides, and what has to be done before: other than zeros, or more on one side than the other."""
    before = padded_before(whole)
    left, _, top, _ = whole._reversed_padding_repeated_twice
    mode = "constant" if whole.padding_mode == "zeros" else whole.padding_mode
    return (0, 0) if before else (top, left), before, mode
