"""Fused fully connected layers, forward and backward in a CUDA graph, against torch's and against the bare products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.cuda_ext.timing import against
from benchmarks.measure import Row
from cuda_ext import FusedLinear, FusedMLP

TYPES = {"tf32": torch.float32, "bf16": torch.bfloat16}  # on a GPU; in `tf32` products are in it
_DTYPES = {**TYPES, "float32": torch.float32}
LARGE = [(4096, 4096, 4096), (8192, 4096, 4096)]
SMALL = [(128, 576, 64), (128, 64, 32), (512, 1024, 1024)]
STACK = (576, 64, 32, 10)
BATCHES = (16, 32, 64, 128, 256, 512)
PRODUCTS, EAGER, COMPILED = "three bare products", "F.relu(nn.Linear)", "compiled F.relu(nn.Linear)"


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """Large layers and stacks against their products, small ones against nn.Linear, eager and compiled."""
    with tf32():
        for kind in TYPES:
            for rows, inputs, outputs in LARGE[:1] if quick else LARGE:
                yield from layer(rows, inputs, outputs, kind, n, (PRODUCTS, EAGER))
            yield from _stack_of_three(4096, 4096, kind, n)
            for rows, inputs, outputs in SMALL[:1] if quick else SMALL:
                yield from layer(rows, inputs, outputs, kind, n, (EAGER, COMPILED))
            for batch in BATCHES[:1] if quick else BATCHES:
                yield from classifier(batch, kind, n)


@contextmanager
def tf32() -> Iterator[None]:
    """Products of float32 matrices on a GPU are in tf32 within."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _passes(
    module: nn.Module | Callable[[Tensor], Tensor], parameters: Sequence[Tensor], x: Tensor
) -> Callable[[], object]:
    """Forward and backward, with the gradients of x and of all parameters."""
    grad = torch.randn_like(module(x))
    return lambda: torch.autograd.grad(module(x), (x, *parameters), grad)


def _input(rows: int, inputs: int, kind: str, device: str = "cuda") -> Tensor:
    return torch.randn(rows, inputs, device=device, dtype=_DTYPES[kind], requires_grad=True)


def _products(x: Tensor, *weights: Tensor) -> Callable[[], object]:
    """The three products of each layer, on matrices of its shape and nothing else."""
    outputs = [torch.randn(len(x), len(weight), device=x.device, dtype=x.dtype) for weight in weights]
    inputs = [x.detach(), *outputs]

    def work() -> list[Tensor]:
        done = []
        for i, weight in enumerate(weights):
            done += [inputs[i] @ weight.t(), inputs[i + 1] @ weight, inputs[i + 1].t() @ inputs[i]]
        return done

    return work


def _linear(inputs: int, outputs: int, kind: str, device: str = "cuda") -> nn.Linear:
    return nn.Linear(inputs, outputs, device=device, dtype=_DTYPES[kind])


def layer(
    rows: int, inputs: int, outputs: int, kind: str, n: int, baselines: Sequence[str], device: str = "cuda"
) -> Iterator[Row]:
    """A fused layer with ReLU against some of `PRODUCTS`, `EAGER` and `COMPILED`, microseconds."""
    x, linear = _input(rows, inputs, kind, device), _linear(inputs, outputs, kind, device)
    fused = FusedLinear.from_linear(linear, "relu")
    ours, parameters = _passes(fused, [fused.weight], x), list(linear.parameters())

    def eager(x: Tensor) -> Tensor:
        return F.relu(linear(x))

    rivals: dict[str, Callable[[], Callable[[], object]]] = {
        PRODUCTS: lambda: _products(x, linear.weight.detach()),
        EAGER: lambda: _passes(eager, parameters, x),
        COMPILED: lambda: _passes(torch.compile(eager), parameters, x),
    }
    name = f"fused_linear + relu {rows}x{inputs}x{outputs} {kind}"
    for baseline in baselines:
        yield against(name, ours, baseline, rivals[baseline](), n, device)


def _stack_of_three(rows: int, width: int, kind: str, n: int) -> Iterator[Row]:
    x = _input(rows, width, kind)
    fused = FusedMLP([width] * 4, last="relu", device="cuda", dtype=TYPES[kind])
    weights = [parameter.detach()[:, 1:].contiguous() for parameter in fused.parameters()]
    ours = _passes(fused, list(fused.parameters()), x)
    yield against(
        f"FusedMLP of three {rows}x{width}x{width} + relu {kind}", ours, "nine bare products", _products(x, *weights), n
    )


def classifier(batch: int, kind: str, n: int, device: str = "cuda") -> Iterator[Row]:
    """The three layers of alexnet-cifar as one FusedMLP against torch's, with ReLU and without, microseconds."""
    x = _input(batch, STACK[0], kind, device)
    linears = [_linear(inputs, outputs, kind, device) for inputs, outputs in pairwise(STACK)]
    with_relu = nn.Sequential(linears[0], nn.ReLU(), linears[1], nn.ReLU(), linears[2])
    fused = FusedMLP.from_layers(with_relu)
    ours = _passes(fused, list(fused.parameters()), x)
    name = f"FusedMLP {'-'.join(map(str, STACK))} batch {batch} {kind}"
    parameters = list(with_relu.parameters())
    theirs, alone = _passes(with_relu, parameters, x), _passes(nn.Sequential(*linears), parameters, x)
    yield against(name, ours, "three nn.Linear with ReLU", theirs, n, device)
    yield against(name, ours, "three nn.Linear alone", alone, n, device)
