"""What only a GPU has: graphs, streams, and matrices of more than 2^31 elements."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext import FusedMLP, reference, shift_left_, shift_right_
from cuda_ext.load import load_operators

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and load_operators().cuda), reason="no GPU, or operators without CUDA"
)


@pytest.mark.parametrize(("rows", "cols"), [(128, 576), (1000, 1001), (8192, 4096), (100_000, 64)])
def test_a_replayed_shift_shifts_again(rows: int, cols: int) -> None:
    storage = torch.zeros(rows * (cols + 1), device="cuda")
    matrix = torch.empty(rows * cols, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        storage[: rows * cols].copy_(matrix)
        shift_right_(storage, rows, cols, 3.0)
        grown = storage.clone()
        shift_left_(storage, rows, cols)
    for _ in range(20):
        matrix.normal_()
        graph.replay()
        assert torch.equal(grown.view(rows, cols + 1), reference.shift_right(matrix.view(rows, cols), 3.0))
        assert torch.equal(storage[: rows * cols], matrix)


def test_shifts_on_several_streams_do_not_disturb_each_other() -> None:
    rows, cols = 300, 700
    streams = [torch.cuda.Stream() for _ in range(8)]
    storages = [torch.randn(rows * (cols + 1), device="cuda") for _ in streams]
    expected = [reference.shift_right(s[: rows * cols].view(rows, cols)).view(-1) for s in storages]
    torch.cuda.synchronize()
    for _ in range(10):
        for stream, storage in zip(streams, storages, strict=True):
            with torch.cuda.stream(stream):
                shift_right_(storage, rows, cols)
                shift_left_(storage, rows, cols)
    for stream, storage in zip(streams, storages, strict=True):
        with torch.cuda.stream(stream):
            shift_right_(storage, rows, cols)
    torch.cuda.synchronize()
    assert all(torch.equal(storage, other) for storage, other in zip(storages, expected, strict=True))


@pytest.mark.parametrize(("rows", "cols"), [(46_341, 46_341), (3, 800_000_000), (1 << 25, 65)])
def test_more_than_two_to_the_31_elements(rows: int, cols: int) -> None:
    count = rows * cols
    assert count > 2**31
    storage = torch.empty(rows * (cols + 1), dtype=torch.float16, device="cuda")
    storage[:count].view(torch.int16).copy_(_pattern(count))
    shift_right_(storage, rows, cols, 1.0)
    grown = storage.view(rows, cols + 1)
    assert bool((grown[:, 0] == 1).all())
    for row in {0, 1, rows // 2, rows - 2, rows - 1}:
        expected = _pattern(cols, row * cols)
        assert torch.equal(grown[row, 1:].view(torch.int16), expected)
    shift_left_(storage, rows, cols)
    step = 1 << 28
    for start in range(0, count, step):
        stop = min(count, start + step)
        assert torch.equal(storage[start:stop].view(torch.int16), _pattern(stop - start, start))


def _pattern(count: int, start: int = 0) -> Tensor:
    """Bits that tell places apart: a few low bits of a product of the place."""
    places = torch.arange(
        start, start + count, device="cuda", dtype=torch.int32 if start + count < 2**31 else torch.int64
    )
    return (
        (places * 40503 >> 7).to(torch.int16)
        if places.dtype == torch.int64
        else (places.long() * 40503 >> 7).to(torch.int16)
    )


@pytest.mark.parametrize("widths", [(576, 64, 32, 10), (1024, 1024, 512)])
def test_a_captured_training_step_is_the_eager_one(widths: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    stack = FusedMLP(widths, device="cuda")
    x, grad = torch.randn(256, widths[0], device="cuda"), torch.randn(256, widths[-1], device="cuda")
    parameters = list(stack.parameters())
    expected = torch.autograd.grad(stack(x), parameters, grad)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.autograd.grad(stack(x), parameters, grad)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.autograd.grad(stack(x), parameters, grad)
    for _ in range(3):
        graph.replay()
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(captured, expected, strict=True))
