"""What only a GPU has: graphs, streams, and matrices of more than 2^31 elements."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cuda_ext import FusedLinear, FusedMLP, reference, shift_left_, shift_right_
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


def test_what_else_a_graph_writes_does_not_disturb_its_shifts() -> None:
    rows, cols = 1000, 1001
    storage, matrix = torch.zeros(rows * (cols + 1), device="cuda"), torch.empty(rows * cols, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        storage[: rows * cols].copy_(matrix)
        shift_right_(storage, rows, cols)
        small = [torch.zeros(2, device="cuda") for _ in range(8)]  # where a helper may have been
    for _ in range(20):
        matrix.normal_()
        graph.replay()
        assert torch.equal(storage.view(rows, cols + 1), reference.shift_right(matrix.view(rows, cols)))
    assert len(small) == 8


@pytest.mark.parametrize(("dtype", "cols"), [(torch.float32, 2), (torch.bfloat16, 5), (torch.float64, 1)])
def test_rows_shorter_than_a_vector_in_a_large_matrix(dtype: torch.dtype, cols: int) -> None:
    rows = 1 << 23
    matrix = torch.randn(rows, cols, device="cuda").to(dtype)
    storage = torch.empty(rows * (cols + 1), device="cuda", dtype=dtype)
    storage[: rows * cols] = matrix.view(-1)
    shift_right_(storage, rows, cols, 5.0)
    assert torch.equal(storage.view(rows, cols + 1), reference.shift_right(matrix, 5.0))
    shift_left_(storage, rows, cols)
    assert torch.equal(storage[: rows * cols], matrix.view(-1))


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(2600, 2600, 2600), (2601, 2605, 2603), (4096, 2048, 2056)])
def test_large_layers_in_tf32_are_as_near_as_torchs(rows: int, inputs: int, outputs: int) -> None:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        linear = nn.Linear(inputs, outputs, device="cuda")
        fused = FusedLinear.from_linear(linear, "relu")
        x = torch.randn(rows, inputs, device="cuda", requires_grad=True)
        grad = torch.randn(rows, outputs, device="cuda")
        ours = torch.autograd.grad(fused(x), (x, fused.weight), grad)
        theirs = torch.autograd.grad(linear(x).relu(), (x, linear.weight, linear.bias), grad)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    exact = linear.double()
    wide = x.detach().double().requires_grad_()
    wanted = torch.autograd.grad(exact(wide).relu(), (wide, exact.weight, exact.bias), grad.double())
    for result, plain, true in (
        (ours[0], theirs[0], wanted[0]),
        (ours[1][:, 1:], theirs[1], wanted[1]),
        (ours[1][:, 0], theirs[2], wanted[2]),
    ):
        allowed = 3 * (plain.double() - true).norm() + 1e-5 * true.norm()
        assert (result.double() - true).norm() <= allowed


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
