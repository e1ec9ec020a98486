"""Bias, ReLU and average pooling in one pass against torch's, forward and backward, over maps channels last."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.cuda_ext.timing import against
from benchmarks.measure import Row
from cuda_ext import reference, relu_avg_pool

SHAPES = [(64, 32, 32, 32), (64, 32, 15, 15), (64, 64, 7, 7)]  # alexnet-cifar's
SIZE, STRIDE = 3, 2
Pool = Callable[[Tensor, Tensor, int, int], Tensor]


def on_cpu(quick: bool, n: int) -> Iterator[Row]:
    """Microseconds by the clock."""
    for shape in SHAPES[:1] if quick else SHAPES:
        ours, theirs = _works(shape, torch.float32, "cpu")
        name = f"relu_avg_pool {_name(shape)} float32, CPU, {torch.get_num_threads()} threads"
        yield against(name, ours, "reference", theirs, n, "cpu")


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """Microseconds in a graph."""
    for dtype in (torch.float32, torch.bfloat16):
        for shape in SHAPES[:1] if quick else SHAPES:
            ours, theirs = _works(shape, dtype, "cuda")
            yield against(f"relu_avg_pool {_name(shape)} {str(dtype)[6:]}", ours, "reference", theirs, n)


def _works(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> tuple[Callable[[], object], ...]:
    x = torch.randn(shape, dtype=dtype, device=device).contiguous(memory_format=torch.channels_last).requires_grad_()
    return tuple(_both_ways(pool, x, _bias_of(shape, device)) for pool in (relu_avg_pool, _plain))


def _bias_of(shape: tuple[int, ...], device: str) -> Tensor:
    """One for each channel."""
    return torch.randn(shape[1], device=device, requires_grad=True)


def _plain(x: Tensor, bias: Tensor, size: int, stride: int) -> Tensor:
    return reference.relu_avg_pool(x, bias.to(x.dtype), size, stride)


def _both_ways(pool: Pool, x: Tensor, bias: Tensor) -> Callable[[], object]:
    gradient = torch.randn_like(pool(x, bias, SIZE, STRIDE))
    return lambda: torch.autograd.grad(pool(x, bias, SIZE, STRIDE), (x, bias), gradient)


def _name(shape: tuple[int, ...]) -> str:
    return "x".join(str(side) for side in shape)
