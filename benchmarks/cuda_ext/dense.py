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

TYPES = {"tf32": torch.float32, "bf16": torch.bfloat16}
LARGE = [(4096, 4096, 4096), (8192, 4096, 4096)]
SMALL = [(128, 576, 64), (128, 64, 32), (512, 1024, 1024)]
STACK = (576, 64, 32, 10)
BATCHES = (16, 32, 64, 128, 256, 512)


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """Large layers and stacks against their products, small ones against nn.Linear, eager and compiled."""
    with _tf32():
        for kind in TYPES:
            for rows, inputs, outputs in LARGE[:1] if quick else LARGE:
                yield from _large(rows, inputs, outputs, kind, n)
            yield from _stack_of_three(4096, 4096, kind, n)
            for rows, inputs, outputs in SMALL[:1] if quick else SMALL:
                yield from _small(rows, inputs, outputs, kind, n)
            for batch in BATCHES[:1] if quick else BATCHES:
                yield from _classifier(batch, kind, n)


@contextmanager
def _tf32() -> Iterator[None]:
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


def _input(rows: int, inputs: int, kind: str) -> Tensor:
    return torch.randn(rows, inputs, device="cuda", dtype=TYPES[kind], requires_grad=True)


def _products(x: Tensor, *weights: Tensor) -> Callable[[], object]:
    """The three products of each layer, on matrices of its shape and nothing else."""
    inputs = [x.detach()] + [torch.randn(len(x), len(weight), device="cuda", dtype=x.dtype) for weight in weights]

    def work() -> list[Tensor]:
        done = []
        for i, weight in enumerate(weights):
            done += [inputs[i] @ weight.t(), inputs[i + 1] @ weight, inputs[i + 1].t() @ inputs[i]]
        return done

    return work


def _linear(inputs: int, outputs: int, kind: str) -> nn.Linear:
    return nn.Linear(inputs, outputs, device="cuda", dtype=TYPES[kind])


def _large(rows: int, inputs: int, outputs: int, kind: str, n: int) -> Iterator[Row]:
    x, linear = _input(rows, inputs, kind), _linear(inputs, outputs, kind)
    fused = FusedLinear.from_linear(linear, "relu")
    ours = _passes(fused, [fused.weight], x)
    name = f"fused_linear + relu {rows}x{inputs}x{outputs} {kind}"
    yield against(name, ours, "three bare products", _products(x, linear.weight.detach()), n)
    theirs = _passes(lambda x: F.relu(linear(x)), list(linear.parameters()), x)
    yield against(name, ours, "F.relu(nn.Linear)", theirs, n)


def _stack_of_three(rows: int, width: int, kind: str, n: int) -> Iterator[Row]:
    x = _input(rows, width, kind)
    fused = FusedMLP([width] * 4, last="relu", device="cuda", dtype=TYPES[kind])
    weights = [parameter.detach()[:, 1:].contiguous() for parameter in fused.parameters()]
    ours = _passes(fused, list(fused.parameters()), x)
    yield against(
        f"FusedMLP of three {rows}x{width}x{width} + relu {kind}", ours, "nine bare products", _products(x, *weights), n
    )


def _small(rows: int, inputs: int, outputs: int, kind: str, n: int) -> Iterator[Row]:
    x, linear = _input(rows, inputs, kind), _linear(inputs, outputs, kind)
    fused = FusedLinear.from_linear(linear, "relu")
    ours = _passes(fused, [fused.weight], x)
    parameters = list(linear.parameters())
    name = f"fused_linear + relu {rows}x{inputs}x{outputs} {kind}"
    yield against(name, ours, "F.relu(nn.Linear)", _passes(lambda x: F.relu(linear(x)), parameters, x), n)
    compiled = torch.compile(lambda x: F.relu(linear(x)))
    yield against(name, ours, "compiled F.relu(nn.Linear)", _passes(compiled, parameters, x), n)


def _classifier(batch: int, kind: str, n: int) -> Iterator[Row]:
    x = _input(batch, STACK[0], kind)
    linears = [_linear(inputs, outputs, kind) for inputs, outputs in pairwise(STACK)]
    with_relu = nn.Sequential(linears[0], nn.ReLU(), linears[1], nn.ReLU(), linears[2])
    fused = FusedMLP.from_layers(with_relu)
    ours = _passes(fused, list(fused.parameters()), x)
    name = f"FusedMLP {'-'.join(map(str, STACK))} batch {batch} {kind}"
    parameters = list(with_relu.parameters())
    yield against(name, ours, "three nn.Linear with ReLU", _passes(with_relu, parameters, x), n)
    yield against(name, ours, "three nn.Linear alone", _passes(nn.Sequential(*linears), parameters, x), n)
