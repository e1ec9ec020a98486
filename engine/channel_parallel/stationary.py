"""A layer whose weights are cut by channels and filters: forward, backward-data and backward-filter.

After Dryden, Maruyama, Moon, Benson, Snir and Van Essen, Channel and filter parallelism for large-scale CNN training,
SC'19. Their three algorithms are one computation on three placements of the weights, since an all-gather or a
reduce-scatter of one rank alone moves nothing:

- stationary-x cuts the channels only: x stays where it is, y is reduce-scattered, dL/dy all-gathered;
- stationary-y cuts the filters only: x is all-gathered, dL/dx reduce-scattered, y and dL/dy stay;
- stationary-w cuts both, and does all four among fewer ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn import grad as gradients

from engine.channel_parallel.algorithms import Transfer
from engine.channel_parallel.collectives import Group, Pending, starts
from engine.channel_parallel.grid import Parts, Placement

Pair = tuple[int, int]


class LocalLayer(Protocol):
    """What a rank computes by itself: a sum over channels, and its two gradients. No dimension may be 0."""

    def output(self, x: Tensor, weight: Tensor) -> Tensor:
        """y [n, filters, ...] of x [n, channels, ...]."""

    def output_size(self, x: Tensor, weight: Tensor) -> Sequence[int]:
        """The dimensions of y after the second; x and weight may be empty."""

    def input_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """dL/dx, in the shape of x."""

    def weight_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """dL/dw for the filters of `dy`, which may be fewer than those of `weight`."""


@dataclass(frozen=True)
class Windows:
    """A convolution over [n, channels, height, width] by weights [filters, channels, height, width]."""

    stride: Pair
    padding: Pair
    dilation: Pair

    def output(self, x: Tensor, weight: Tensor) -> Tensor:
        """By conv2d."""
        return F.conv2d(_dense(x), weight, None, self.stride, self.padding, self.dilation)

    def output_size(self, x: Tensor, weight: Tensor) -> Sequence[int]:
        """Height and width; raises ValueError where the padded picture is smaller than the window."""
        sizes = [
            (side + 2 * padding - dilation * (window - 1) - 1) // stride + 1
            for side, window, stride, padding, dilation in zip(
                x.shape[2:], weight.shape[2:], self.stride, self.padding, self.dilation, strict=True
            )
        ]
        if min(sizes) < 1:
            raise ValueError(
                f"pictures of {_times(x.shape[2:])} are smaller than windows of {_times(weight.shape[2:])}"
            )
        return sizes

    def input_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """By the transposed convolution."""
        dx: Tensor = gradients.conv2d_input(  # type: ignore[no-untyped-call]
            x.shape, weight, _dense(dy), self.stride, self.padding, self.dilation
        )
        return dx

    def weight_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        """By the convolution of x with dL/dy."""
        shape = (dy.shape[1], *weight.shape[1:])
        dw: Tensor = gradients.conv2d_weight(  # type: ignore[no-untyped-call]
            _dense(x), shape, _dense(dy), self.stride, self.padding, self.dilation
        )
        return dw


class Product:
    """A fully connected layer: x [n, channels] by weights [filters, channels]."""

    def output(self, x: Tensor, weight: Tensor) -> Tensor:
        """x times the transposed weights."""
        return x @ weight.T

    def output_size(self, x: Tensor, weight: Tensor) -> Sequence[int]:  # noqa: ARG002 - the contract's
        """Nothing: y is [n, filters]."""
        return ()

    def input_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:  # noqa: ARG002
        """dL/dy times the weights."""
        return dy @ weight

    def weight_gradient(self, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:  # noqa: ARG002
        """The transposed dL/dy times x."""
        return dy.T @ x


@dataclass(frozen=True)
class Cut:
    """A layer on a placement: `channels` and `filters` of x and y are cut as these say."""

    layer: LocalLayer
    placement: Placement
    channels: Parts
    filters: Parts
    among_samples: Group

    @property
    def own_channels(self) -> list[int]:
        """The channels of each of this rank's channel peers."""
        return [self.channels.sizes[rank] for rank in self.placement.channel_peers]

    @property
    def own_filters(self) -> list[int]:
        """The filters of each of this rank's filter peers."""
        return [self.filters.sizes[rank] for rank in self.placement.filter_peers]

    def weight_indices(self) -> tuple[Tensor, Tensor]:
        """Which filters and which channels of the whole weights this rank holds: [filters] and [channels], int64."""
        placement = self.placement
        return self.filters.indices(*placement.filter_peers), self.channels.indices(*placement.channel_peers)

    def apply(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """This rank's part of y [n, own filters, ...] of its part of x [n, own channels, ...].

        `weight` is [filters of the filter peers, channels of the channel peers, ...], `bias` [own filters]. Gradients
        of both are summed over all samples. Collective; differentiable once.
        """
        y: Tensor = _Stationary.apply(x, weight, bias, self)  # type: ignore[no-untyped-call]
        return y


class _Stationary(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, cut: Cut) -> Tensor:
        placement = cut.placement
        gathered = gather_channels(x, placement.among_channel_peers, cut.own_channels, "gather x").wait()
        partial = _output(cut.layer, gathered, weight)
        y = _scattered(partial, placement.among_filter_peers, cut.own_filters, "scatter y").wait()
        if bias is not None:
            y += bias.view(-1, *[1] * (y.dim() - 2))
        ctx.save_for_backward(gathered, weight)
        ctx.cut, ctx.has_bias = cut, bias is not None
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, own_dy: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        pass_ = _Backward(ctx.cut, x, weight, own_dy)
        to_x, to_weight, to_bias, _ = ctx.needs_input_grad
        dx, dw, db = pass_.gradients(to_x, to_weight, ctx.has_bias and to_bias)
        return dx, dw, db, None


class _Backward:
    """One backward pass, in an order in which what is sent travels while something else is computed.

    While dL/dy is gathered, the gradients of the weights of this rank's own filters are computed, which need no other;
    but not where more weights would have to be copied, to join them with the rest, than numbers are gathered. Then
    whichever gradient has to be sent comes first, and the other is computed meanwhile.
    """

    def __init__(self, cut: Cut, x: Tensor, weight: Tensor, own_dy: Tensor) -> None:
        self._cut, self._x, self._weight, self._own_dy = cut, x, weight, own_dy

    def gradients(
        self, to_x: bool, to_weight: bool, to_bias: bool
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Those asked for."""
        peers = self._cut.placement.among_filter_peers
        gathering = gather_channels(self._own_dy, peers, self._cut.own_filters, "gather dy")
        bias = self._summed(self._own_dy.sum([d for d in range(self._own_dy.dim()) if d != 1])) if to_bias else None
        own = self._filter_gradient(self._own_dy) if to_weight and self._gathers_much() else None
        dy = gathering.wait()
        sends_x = self._cut.placement.among_channel_peers.size > 1
        x = self._data(dy) if to_x and sends_x else None
        weight = self._summed(self._all_filters(dy, own)) if to_weight else None
        if to_x and x is None:
            x = self._data(dy)
        return (
            x.wait() if x else None,
            weight.wait().view_as(self._weight) if weight else None,
            bias.wait() if bias else None,
        )

    def _gathers_much(self) -> bool:
        own, filters = self._own_dy.shape[1], sum(self._cut.own_filters)
        return own < filters and self._own_dy[:, :1].numel() * (filters - own) > self._weight.numel()

    def _data(self, dy: Tensor) -> Pending:
        partial = _input_gradient(self._cut.layer, dy, self._x, self._weight)
        return _scattered(partial, self._cut.placement.among_channel_peers, self._cut.own_channels, "scatter dx")

    def _all_filters(self, dy: Tensor, own: Tensor | None) -> Tensor:
        """dL/dw for this rank's samples; `own` is the part of it that is there already."""
        if own is None:
            return self._filter_gradient(dy)
        bounds, rank = starts(self._cut.own_filters), self._cut.placement.among_filter_peers.rank
        before, after = dy[:, : bounds[rank]], dy[:, bounds[rank + 1] :]
        others = torch.cat([before, after], 1) if rank and after.shape[1] else before if rank else after
        rest = self._filter_gradient(others)
        return torch.cat([rest[: bounds[rank]], own, rest[bounds[rank] :]])

    def _filter_gradient(self, dy: Tensor) -> Tensor:
        if not (dy.numel() and self._x.numel()):
            return self._weight.new_zeros(dy.shape[1], *self._weight.shape[1:])
        return self._cut.layer.weight_gradient(dy, self._x, self._weight)

    def _summed(self, gradient: Tensor) -> Pending:
        group = self._cut.among_samples
        return group.all_reduce(_flat(gradient), "sum dw") if group.size > 1 else Pending(gradient)


def _output(layer: LocalLayer, x: Tensor, weight: Tensor) -> Tensor:
    """What the layer gives; zeros where there are no channels to sum over."""
    size = layer.output_size(x, weight)
    if not (x.numel() and weight.numel()):
        return x.new_zeros(len(x), len(weight), *size)
    return layer.output(x, weight)


def _input_gradient(layer: LocalLayer, dy: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    return layer.input_gradient(dy, x, weight) if dy.numel() and x.numel() else torch.zeros_like(x)


def gather_channels(own: Tensor, group: Group, sizes: Sequence[int], transfer: Transfer) -> Pending:
    """[n, sum of sizes, ...] of every rank's [n, size, ...]."""
    if group.size == 1:
        return Pending(own)
    batch, _, *rest = own.shape
    counts = [batch * size * prod(rest) for size in sizes]
    pending = group.all_gather(_flat(own), counts, transfer)

    def joined(flat: Tensor) -> Tensor:
        if batch == 1:  # as they came
            return flat.view(1, sum(sizes), *rest)
        parts = zip(torch.split(flat, counts), sizes, strict=True)
        return torch.cat([part.view(batch, size, *rest) for part, size in parts], 1)

    return pending.then(joined)


def _scattered(values: Tensor, group: Group, sizes: Sequence[int], transfer: Transfer) -> Pending:
    """This rank's [n, size, ...] of the sum of all ranks' [n, sum of sizes, ...]."""
    if group.size == 1:
        return Pending(values)
    batch, _, *rest = values.shape
    parts = [_flat(part) for part in torch.split(values, list(sizes), 1)]
    flat = _flat(values) if batch == 1 else torch.cat(parts)
    # In its shape from the beginning: autograd would not let a layer that follows change a view of it in place.
    into = values.new_empty(batch, sizes[group.rank], *rest)
    return group.reduce_scatter(flat, into, [len(part) for part in parts], transfer)


def _dense(maps: Tensor) -> Tensor:
    """The same without gaps: of a slice of one channel torch's kernels compute wrong sums (2.13 on CPUs, dilated)."""
    if maps.is_contiguous() or maps.is_contiguous(memory_format=torch.channels_last):
        return maps
    return maps.contiguous()


def _flat(values: Tensor) -> Tensor:
    """One dimension without gaps, which `reshape` alone does not promise of a view."""
    return values.reshape(-1).contiguous()


def _times(sides: Sequence[int]) -> str:
    return "x".join(map(str, sides))
