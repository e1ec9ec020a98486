"""Convolutions at random, and the check that one split over ranks is torch's own, in values, gradients and bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from engine.channel_parallel import (
    Algorithm,
    ChannelParallelConv2d,
    ConvolutionShape,
    ProcessGrid,
    bytes_moved,
    ways_of,
)
from tests.parallel.channel_parallel.grids import SAMPLES, WORLD, cuts_of, grid_of, own_samples

Pair = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A convolution, its batch, and how it is split."""

    batch: int = 3
    channels: int = 6
    filters: int = 5
    window: Pair = (3, 3)
    size: Pair = (7, 6)
    stride: Pair = (1, 1)
    padding: Pair | str = (1, 1)
    padding_mode: str = "zeros"
    dilation: Pair = (1, 1)
    bias: bool = True
    samples: int = 1
    algorithm: Algorithm = "stationary-x"
    filter_ways: int | None = None
    dtype: torch.dtype = torch.float64
    needs_dx: bool = True
    layout: torch.memory_format = torch.contiguous_format

    def convolution(self) -> nn.Conv2d:
        """The whole, its weights drawn anew."""
        return nn.Conv2d(
            self.channels,
            self.filters,
            self.window,
            self.stride,
            self.padding,
            self.dilation,
            bias=self.bias,
            padding_mode=cast(Any, self.padding_mode),
            dtype=self.dtype,
        )


def drawn(seed: int) -> Case:
    """A case at random, the same on every rank; one in four has fewer channels or filters than ranks."""
    draw = random.Random(f"{seed} on {WORLD.size}")
    window = (draw.randint(1, 5), draw.randint(1, 5))
    dilation = (draw.randint(1, 3), draw.randint(1, 3))
    # No window lies in the padding alone: torch's own kernels may crash there (2.13 on CPUs, channels last).
    padding = cast(Pair, tuple(draw.randint(0, min(3, d * (w - 1))) for w, d in zip(window, dilation, strict=True)))
    # Large enough for one window at least.
    size = cast(
        Pair,
        tuple(
            max(1, d * (w - 1) + 1 - 2 * p) + draw.randint(0, 8)
            for w, d, p in zip(window, dilation, padding, strict=True)
        ),
    )
    few = draw.random() < 0.25
    samples = draw.choice(SAMPLES)
    algorithm, filter_ways = draw.choice(cuts_of(samples))
    return Case(
        batch=draw.randint(1, 6),
        channels=draw.randint(1, WORLD.size if few else 12),
        filters=draw.randint(1, WORLD.size if few else 12),
        window=window,
        size=size,
        stride=(draw.randint(1, 3), draw.randint(1, 3)),
        padding=padding,
        dilation=dilation,
        bias=draw.random() < 0.5,
        samples=samples,
        algorithm=algorithm,
        filter_ways=filter_ways,
        dtype=draw.choice([torch.float32, torch.float64]),
        needs_dx=draw.random() < 0.8,
        layout=draw.choice([torch.contiguous_format, torch.channels_last]),
    )


def check(case: Case, seed: int = 0, grid: ProcessGrid | None = None) -> None:
    """Values, gradients and bytes moved are what they are to be, on the case's grid."""
    torch.manual_seed(seed)
    whole, grid = case.convolution(), grid or grid_of(case.samples)
    x = torch.randn(case.batch, case.channels, *case.size, dtype=case.dtype).to(memory_format=case.layout)
    x.requires_grad_(case.needs_dx)
    expected = whole(x)
    dy = torch.randn_like(expected)
    expected.backward(dy)

    split = ChannelParallelConv2d(whole, grid, case.algorithm, case.filter_ways)
    rows = own_samples(grid, case.batch)
    channels, filters = (grid.parts(number).range(grid.channel) for number in (case.channels, case.filters))
    own = x.detach()[rows, channels].requires_grad_(case.needs_dx)
    grid.traffic.bytes.clear()
    y = split(own)
    y.backward(dy[rows, filters])

    same(case, "y", y, expected[rows, filters])
    if case.needs_dx:
        assert x.grad is not None
        same(case, "dx", own.grad, x.grad[rows, channels])
    for name, parameter in split.named_parameters():
        gradient = whole.get_parameter(name).grad
        assert gradient is not None
        same(case, f"d{name}", parameter.grad, split.held[name].part_of(gradient))
    moved = {what: WORLD.allreduce(grid.traffic.bytes[what]) for what in bytes_expected(case, grid, expected)}
    assert moved == bytes_expected(case, grid, expected), case


def bytes_expected(case: Case, grid: ProcessGrid, y: Tensor) -> dict[Any, int]:
    """By the formula, for a case whose padding is the same on all sides."""
    ways = ways_of(case.algorithm, grid.channels, case.filter_ways)
    size = case.size
    if isinstance(case.padding, str) or case.padding_mode != "zeros":  # padded before it is sent
        left, right, top, bottom = case.convolution()._reversed_padding_repeated_twice
        size = (size[0] + top + bottom, size[1] + left + right)
    shape = ConvolutionShape(
        case.batch, case.channels, case.filters, case.window, size, (y.shape[2], y.shape[3]), case.bias
    )
    return {**bytes_moved(shape, ways, grid.samples, element_bytes=y.element_size(), needs_dx=case.needs_dx)}


def same(case: Case, name: str, found: Tensor | None, expected: Tensor) -> None:
    """Equal within the rounding of sums that are added up in another order."""
    assert found is not None, (name, case)
    assert found.shape == expected.shape, (name, case)
    if not expected.numel():
        return
    relative = 1e-5 if case.dtype == torch.float32 else 1e-13
    scale = max(1.0, float(expected.detach().abs().max()))
    worst = float((found.detach() - expected.detach()).abs().max())
    assert worst <= relative * scale, (name, worst, scale, case)


def variants() -> list[Case]:
    """Cases that a person would think of, on every grid and by every algorithm."""
    found = []
    for samples in SAMPLES:
        for algorithm, filter_ways in cuts_of(samples):
            plain = Case(samples=samples, algorithm=algorithm, filter_ways=filter_ways)
            found += [
                plain,
                replace(plain, dtype=torch.float32, channels=64, filters=32, batch=4),
                replace(plain, batch=6, channels=3, filters=64, size=(16, 16)),  # messages that MPI sends in pieces
                replace(plain, channels=1, filters=1),
                replace(plain, batch=1, stride=(2, 1), dilation=(1, 2)),
                replace(plain, needs_dx=False, bias=False),
                replace(plain, padding="same", window=(4, 3)),
                replace(plain, padding="valid"),
                *(
                    replace(plain, channels=channels, padding_mode=mode)
                    for mode in ("circular", "reflect", "replicate")
                    for channels in (1, 6)  # fewer than ranks, and more
                ),
            ]
    return found
