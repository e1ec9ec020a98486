"""The layers between convolutions, on tensors whose channels are split among ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.channel_parallel.algorithms import Algorithm
from engine.channel_parallel.collectives import Group
from engine.channel_parallel.grid import Parts, ProcessGrid
from engine.channel_parallel.split_layer import SplitLayer
from engine.channel_parallel.stationary import Cut, Product, gather_channels
from engine.channel_parallel.sums import sum_of_parts, sum_over_samples, with_summed_gradient


class ChannelParallelBatchNorm2d(SplitLayer):
    """This rank's channels of an nn.BatchNorm2d, whose means and variances are those of all rows' samples.

    Without that a step on several rows would not be the step on one. Nothing is sent where the grid has one row.
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(self, whole: nn.BatchNorm2d, grid: ProcessGrid) -> None:
        super().__init__()
        own = grid.parts(whole.num_features).indices(grid.channel)
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.hold(name, getattr(whole, name), own)
        tracked = whole.num_batches_tracked
        self.register_buffer("num_batches_tracked", None if tracked is None else tracked.clone())
        self._momentum, self._eps, self._group = whole.momentum, whole.eps, grid.among_samples
        self._grid, self._channels = grid, whole.num_features

    def forward(self, x: Tensor) -> Tensor:
        """[n, own channels, height, width], normalised.

        Raises:
            ValueError: in training, a single pixel of a single sample, as torch's own does; on all ranks.
        """
        factor = self._count() if self.training else 0.0
        of_batch = self.training or self.running_mean is None
        if of_batch:
            self._check_values(x)
        if not x.shape[1]:
            return x
        if of_batch and self._group.size > 1:
            return self._over_all_samples(x, factor)
        weight, bias = self._shared(self.weight), self._shared(self.bias)
        return F.batch_norm(x, self.running_mean, self.running_var, weight, bias, of_batch, factor, self._eps)

    def _check_values(self, x: Tensor) -> None:
        """The ranks ask each other for their samples only if maps have one pixel: otherwise there are values enough."""
        if x.shape[2:].numel() == 1 and self._grid.samples_before(len(x))[1] == 1:
            size = torch.Size((1, self._channels, 1, 1))
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")

    def _shared(self, own: Tensor | None, dtype: torch.dtype | None = None) -> Tensor | None:
        """A weight or bias as the samples of all rows use it; its gradient is summed in `dtype`."""
        return None if own is None else with_summed_gradient(own.to(dtype or own.dtype), self._group)

    def _count(self) -> float:
        """The weight of this batch in the running statistics; without momentum they are plain means."""
        if self.num_batches_tracked is None:
            return 0.0
        self.num_batches_tracked.add_(1)
        return 1 / float(self.num_batches_tracked) if self._momentum is None else self._momentum

    def _over_all_samples(self, x: Tensor, factor: float) -> Tensor:
        """In float32 at least, as torch computes the sums of smaller types."""
        pixels, dtype = (0, 2, 3), torch.promote_types(x.dtype, torch.float32)
        wide = x.to(dtype)
        own_count = wide.new_full((1,), x.numel() // x.shape[1])
        sums = sum_over_samples(torch.cat([wide.sum(pixels), own_count]), self._group)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centred = wide - mean.view(1, -1, 1, 1)
        variance = sum_over_samples((centred * centred).sum(pixels), self._group) / count
        if self.training and self.running_mean is not None and self.running_var is not None:
            with torch.no_grad():
                _move(self.running_mean, mean, factor)
                _move(self.running_var, variance * (count / (count - 1)), factor)
        scale = (variance + self._eps).rsqrt()
        weight, bias = self._shared(self.weight, dtype), self._shared(self.bias, dtype)
        scale = scale if weight is None else scale * weight
        y = centred * scale.view(1, -1, 1, 1)
        return (y if bias is None else y + bias.view(1, -1, 1, 1)).to(x.dtype)


def _move(running: Tensor, value: Tensor, factor: float) -> None:
    """Move a running statistic towards that of a batch, whose type is the one to compute in."""
    running.copy_(running.to(value.dtype).lerp(value, factor))


class OnOwnChannels(nn.Module):
    """A layer that treats each channel alone, such as a pooling; torch's own refuse tensors without channels."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """What the layer gives for this rank's channels, if it has some."""
        return on_own_channels(self.layer, x)


def on_own_channels(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """What a layer that treats each channel alone gives for this rank's channels. So it never sees none."""
    if x.shape[1]:
        return layer(x)
    # A channel of zeros and away with it: the way back must lead through here on all ranks alike.
    return layer(torch.cat([x, x.new_zeros(len(x), 1, *x.shape[2:])], 1))[:, :0]


class ChannelParallelLinear(SplitLayer):
    """This rank's part of an nn.Linear between split features: [n, own inputs] to [n, own outputs].

    It is a convolution over one pixel, by the same algorithms, with the same shapes of its weights.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, whole: nn.Linear, grid: ProcessGrid, inputs: Parts, algorithm: Algorithm) -> None:
        super().__init__()
        outputs = grid.parts(whole.out_features)
        self.cut = Cut(Product(), grid.placement(algorithm), inputs, outputs, grid.among_samples)
        self.hold("weight", whole.weight, *self.cut.weight_indices())
        self.hold("bias", whole.bias, outputs.indices(grid.channel))

    def forward(self, x: Tensor) -> Tensor:
        """This rank's outputs."""
        with torch.autocast(x.device.type, enabled=False):
            return self.cut.apply(x.to(self.weight.dtype), self.weight, self.bias)


class SummedLinear(SplitLayer):
    """This rank's inputs of an nn.Linear, whose outputs every rank has whole: [n, own inputs] to [n, outputs].

    For the last layer of a network: each rank then computes the loss of its row's samples. The bias is on all ranks.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, whole: nn.Linear, grid: ProcessGrid, inputs: Parts) -> None:
        super().__init__()
        self._grid = grid
        self.hold("weight", whole.weight, torch.arange(whole.out_features), inputs.indices(grid.channel))
        self.hold("bias", whole.bias)

    def forward(self, x: Tensor) -> Tensor:
        """All outputs, the same on all ranks of a row."""
        rows, columns = self._grid.among_samples, self._grid.among_channels
        with torch.autocast(x.device.type, enabled=False):
            partial = x.to(self.weight.dtype) @ with_summed_gradient(self.weight, rows).T
            y = sum_of_parts(partial, columns)
        return y if self.bias is None else y + with_summed_gradient(self.bias, rows)


class ChannelParallelDropout(nn.Module):
    """Dropout of split features, from the mask that one rank alone would draw for all samples and features.

    All ranks draw it whole, so that their random states, which must begin alike, stay alike. Of flattened channels
    `features` is set once the fully connected layer after it says how many a channel has: a rank without channels could
    not tell from its x.
    """

    def __init__(self, probability: float, grid: ProcessGrid, features: Parts) -> None:
        super().__init__()
        self._probability, self._grid, self.features = probability, grid, features

    def forward(self, x: Tensor) -> Tensor:
        """x [n, own features, ...] with some features zero and the others larger; outside training x itself."""
        if not self.training or not self._probability:
            return x
        before, samples = self._grid.samples_before(len(x))
        kept = 1 - self._probability
        mask = x.new_empty(samples, self.features.whole, *x.shape[2:]).bernoulli_(kept)
        own = mask[before : before + len(x), self.features.range(self._grid.channel)]
        return x * (own / kept if kept else own)


class ChannelParallelShortcut(nn.Module):
    """Every `stride`th pixel, and channels of zeros after the existing ones; all channels are then split again.

    The channels that a rank has after it begin further on than those that it had, so they are gathered first.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, grid: ProcessGrid) -> None:
        super().__init__()
        self._stride, self._group = stride, grid.among_channels
        self._before, self._after = grid.parts(inputs), grid.parts(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[n, own inputs, height, width] to [n, own outputs, height / stride, width / stride], rounded up."""
        return resplit(x[:, :, :: self._stride, :: self._stride], self._before, self._after, self._group)


def resplit(x: Tensor, before: Parts, after: Parts, group: Group) -> Tensor:
    """Channels split as `before` says, split as `after` does; zeros take the place of those that `before` lacks.

    Collective among the ranks that share samples.
    """
    y: Tensor = _Resplit.apply(x, before, after, group)  # type: ignore[no-untyped-call]
    return y


class _Resplit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, before: Parts, after: Parts, group: Group) -> Tensor:
        ctx.cut = (after, before, group)
        return _resplit(x, before, after, group)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _resplit(grad, *ctx.cut), None, None, None


def _resplit(x: Tensor, before: Parts, after: Parts, group: Group) -> Tensor:
    whole = gather_channels(x, group, before.sizes, "layers").wait()
    wanted = after.range(group.rank)
    there = whole[:, wanted]
    missing = after.sizes[group.rank] - there.shape[1]
    return F.pad(there, (*[0, 0] * len(x.shape[2:]), 0, missing)) if missing else there.clone()
