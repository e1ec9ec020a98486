"""Realignment: the values of the reference at every shape, in place, and nothing else touched."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cuda_ext import reference, shift_left, shift_left_, shift_right, shift_right_
from tests.cuda_ext.devices import DEVICES, DTYPES, randoms

# No rows, one column, none, primes, rows far above columns, one very long row, and sizes for each way of doing it.
SHAPES = [
    (0, 5),
    (1, 1),
    (1, 0),
    (5, 0),
    (7, 1),
    (1009, 1),
    (3, 5),
    (127, 131),
    (513, 1001),
    (5000, 3),
    (30011, 7),
    (40000, 8),
    (10007, 64),
    (2, 400_009),
    (2048, 2048),
    (3001, 3301),
]
OFFSETS = [0, 1, 3]
GUARD = 9  # elements behind the matrix that must stay


def pairs(right: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    return (shift_right_, reference.shift_right_) if right else (shift_left_, reference.shift_left_)


def both(
    rows: int, cols: int, offset: int, right: bool, dtype: torch.dtype, device: str, algorithm: str
) -> tuple[Tensor, Tensor]:
    """The whole buffer after the operator, and after the reference."""
    ours, theirs = pairs(right)
    before = randoms(offset + rows * (cols + 1) + GUARD, dtype=dtype, device=device, seed=rows + cols)
    result, expected = before.clone(), before.clone()
    fill = (2.5,) if right else ()
    ours(result[offset:], rows, cols, *fill, algorithm=algorithm)
    theirs(expected[offset:], rows, cols, *fill)
    return result, expected


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(("rows", "cols"), SHAPES)
def test_in_place_it_is_the_reference(rows: int, cols: int, right: bool, dtype: torch.dtype, device: str) -> None:
    for offset in OFFSETS:
        result, expected = both(rows, cols, offset, right, dtype, device, "single-pass")
        assert torch.equal(result, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(("rows", "cols"), [(0, 3), (1, 0), (1, 1), (2, 1), (3, 5), (131, 130), (127, 5003)])
def test_the_papers_algorithm_gives_the_same(
    rows: int, cols: int, right: bool, dtype: torch.dtype, device: str
) -> None:
    result, expected = both(rows, cols, 1, right, dtype, device, "paper")
    assert torch.equal(result, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(60))
def test_any_shape_type_and_offset(seed: int, device: str) -> None:
    draw = random.Random(seed)
    rows = int(2 ** draw.uniform(0, 14))
    cols = int(2 ** draw.uniform(0, 21 - rows.bit_length()))
    dtype, right = draw.choice(DTYPES), draw.random() < 0.5
    algorithm = draw.choice(["single-pass", "paper"]) if rows <= cols + 1 else "single-pass"
    result, expected = both(rows, cols, draw.randrange(17), right, dtype, device, algorithm)
    assert torch.equal(result, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_right_and_left_undo_each_other(device: str) -> None:
    storage = randoms(613 * 48, dtype=torch.float32, device=device)
    before = storage[: 613 * 47].clone()
    shift_right_(storage, 613, 47)
    assert bool((storage.view(613, 48)[:, 0] == 1).all())
    shift_left_(storage, 613, 47)
    assert torch.equal(storage[: 613 * 47], before)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for rows, cols in [(50_021, 40), (50_021, 9), (200_003, 5), (301, 4001)]:
            for right in (True, False):
                result, expected = both(rows, cols, 1, right, torch.float32, "cpu", "single-pass")
                assert torch.equal(result, expected)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "cols"), [(0, 4), (4, 0), (1, 1), (5, 7), (131, 67)])
def test_functional_twins_are_the_reference(rows: int, cols: int, dtype: torch.dtype, device: str) -> None:
    x = randoms(rows, cols, dtype=dtype, device=device)
    assert torch.equal(shift_right(x, -3.0), reference.shift_right(x, -3.0))
    wide = randoms(rows, cols + 1, dtype=dtype, device=device)
    assert torch.equal(shift_left(wide), reference.shift_left(wide))
    columns = randoms(cols, rows, dtype=dtype, device=device).t()
    assert torch.equal(shift_right(columns), reference.shift_right(columns))


@pytest.mark.parametrize("device", DEVICES)
def test_functional_twins_have_the_references_gradients(device: str) -> None:
    for ours, theirs in ((shift_right, reference.shift_right), (shift_left, reference.shift_left)):
        x = randoms(5, 8, dtype=torch.float32, device=device).requires_grad_()
        grad = torch.randn_like(theirs(x))
        assert torch.equal(*(torch.autograd.grad(f(x), x, grad)[0] for f in (ours, theirs)))
        assert torch.autograd.gradcheck(ours, (x.detach().double().requires_grad_(),))
        assert torch.autograd.gradgradcheck(ours, (x.detach().double().requires_grad_(),))


@pytest.mark.parametrize("device", DEVICES)
def test_torch_accepts_the_registrations(device: str) -> None:
    namespace = torch.ops.sweeper
    storage = randoms(40, dtype=torch.float32, device=device)
    x = randoms(4, 7, dtype=torch.float32, device=device).requires_grad_()
    torch.library.opcheck(namespace.shift_right_, (storage, 4, 7, 2.0))
    torch.library.opcheck(namespace.shift_left_, (storage, 4, 7), {"algorithm": "paper"})
    torch.library.opcheck(namespace.shift_right, (x, 2.0))
    torch.library.opcheck(namespace.shift_left, (x,))


@pytest.mark.long
@pytest.mark.parametrize("device", DEVICES)
def test_they_compile_into_one_graph(device: str) -> None:
    def work(storage: Tensor, x: Tensor) -> Tensor:
        shift_right_(storage, 6, 5, 4.0)
        return storage[:36].view(6, 6) * shift_right(x, 2.0)

    storage, x = randoms(40, dtype=torch.float32, device=device), randoms(6, 5, dtype=torch.float32, device=device)
    expected = work(storage.clone(), x)
    compiled = torch.compile(work, fullgraph=True)(storage, x)
    assert torch.equal(compiled, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shift", [shift_right_, shift_left_])
@pytest.mark.parametrize(
    ("size", "rows", "cols", "words"),
    [
        (11, 3, 3, ["at least rows * (cols + 1) = 12", "rows=3, cols=3", "got 11"]),
        (11, -1, 3, ["rows >= 0", "rows=-1"]),
        (11, 2, -1, ["cols >= 0", "cols=-1"]),
        (11, 2**62, 2**62, ["more than any buffer holds"]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    shift: Callable[..., None], size: int, rows: int, cols: int, words: list[str], device: str
) -> None:
    with pytest.raises(RuntimeError) as refused:
        shift(torch.zeros(size, device=device), rows, cols)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shift", [shift_right_, shift_left_])
def test_other_wrong_arguments_are_refused(shift: Callable[..., None], device: str) -> None:
    with pytest.raises(RuntimeError, match="expected float32, float64, bfloat16 or float16, got int"):
        shift(torch.zeros(12, dtype=torch.int32, device=device), 3, 3)
    with pytest.raises(RuntimeError, match="expected a contiguous storage"):
        shift(torch.zeros(24, device=device)[::2], 3, 3)
    with pytest.raises(RuntimeError, match=r"right only where rows <= cols \+ 1, got rows=5, cols=3"):
        shift(torch.zeros(20, device=device), 5, 3, algorithm="paper")
    with pytest.raises(RuntimeError, match="expected algorithm 'single-pass' or 'paper', got 'fast'"):
        shift(torch.zeros(20, device=device), 5, 3, algorithm="fast")


def test_twins_refuse_what_is_no_matrix() -> None:
    with pytest.raises(RuntimeError, match=r"expected a matrix \[rows, cols\], got sizes \[3\]"):
        torch.ops.sweeper.shift_right(torch.zeros(3))
    with pytest.raises(RuntimeError, match=r"expected a matrix \[rows, 1 \+ cols\], got sizes \[3, 0\]"):
        torch.ops.sweeper.shift_left(torch.zeros(3, 0))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shift", [shift_right_, shift_left_])
def test_autograd_is_told_of_a_shift_in_place(shift: Callable[..., None], device: str) -> None:
    storage = torch.ones(12, device=device)
    weight = torch.ones(12, device=device, requires_grad=True)
    product = (storage * weight).sum()
    shift(storage, 3, 3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.backward(product)
    with pytest.raises(RuntimeError, match="a storage that requires gradients cannot be shifted in place"):
        shift(weight, 3, 3)
    with torch.no_grad():
        shift(weight, 3, 3)
