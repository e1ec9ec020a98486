"""Fully connected operators: the reference's values and gradients, for every activation, layout and way of doing it."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from cuda_ext import empty_augmented, fused_linear, fused_mlp, reference
from tests.cuda_ext.devices import DEVICES, DTYPES, assert_near, randoms

ACTIVATIONS = list(reference.ACTIVATIONS)
# Small ones, none, primes, wide ones; the last two are large enough for the library's products on a GPU.
SHAPES = [
    (0, 3, 4),
    (1, 1, 1),
    (5, 7, 3),
    (17, 1, 10),
    (3, 0, 4),
    (3, 4, 0),
    (300, 5, 0),
    (128, 576, 64),
    (131, 67, 129),
    (257, 300, 512),
    (300, 521, 131),
]


def augmented_weight(outputs: int, inputs: int, dtype: torch.dtype, device: str, layout: str = "columns") -> Tensor:
    """Values of about 1 / sqrt(inputs), stored by aligned columns or by rows."""
    values = randoms(outputs, 1 + inputs, dtype=dtype, device=device, seed=1) / math.sqrt(inputs + 1)
    if layout == "rows":
        return values
    weight = empty_augmented(outputs, inputs, dtype=dtype, device=device)
    weight.copy_(values)
    return weight


def by_reference(
    x: Tensor, weights: list[Tensor], activations: list[str], grad: Tensor, dtype: torch.dtype
) -> list[Tensor]:
    """The reference's output and gradients, computed in `dtype`."""
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in (x, *weights)]
    output = reference.fused_mlp(inputs[0], inputs[1:], activations)
    return [output.detach(), *torch.autograd.grad(output, inputs, grad.to(dtype))]


def check(x: Tensor, weights: list[Tensor], activations: list[str], dtype: torch.dtype, rows: int) -> None:
    """Output and all gradients, with one operator a layer or one for the stack."""
    inputs = [tensor.detach().requires_grad_() for tensor in (x, *weights)]
    if len(weights) == 1:
        output = fused_linear(inputs[0], inputs[1], activations[0])
    else:
        output = fused_mlp(inputs[0], inputs[1:], activations)
    grad = randoms(rows, weights[-1].shape[0], dtype=dtype, device=x.device.type, seed=2)
    results = [output.detach(), *torch.autograd.grad(output, inputs, grad)]
    exact = by_reference(x, weights, activations, grad, torch.float64)
    plain = by_reference(x, weights, activations, grad, dtype)
    for ours, wanted, theirs in zip(results, exact, plain, strict=True):
        assert_near(ours, wanted, dtype, theirs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
def test_a_layer_is_the_reference(
    rows: int, inputs: int, outputs: int, activation: str, dtype: torch.dtype, device: str
) -> None:
    x = randoms(rows, inputs, dtype=dtype, device=device)
    for layout in ("columns", "rows"):
        check(x, [augmented_weight(outputs, inputs, dtype, device, layout)], [activation], dtype, rows)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    "widths", [(576, 64, 32, 10), (5, 3), (1, 1, 1), (4, 0, 5, 3), (5, 4, 0), (300, 520, 264, 128), (7, 1030, 5)]
)
@pytest.mark.parametrize("rows", [1, 67, 256])
def test_a_stack_is_the_reference(
    widths: tuple[int, ...], rows: int, activation: str, dtype: torch.dtype, device: str
) -> None:
    weights = [augmented_weight(outputs, inputs, dtype, device) for inputs, outputs in pairwise(widths)]
    x = randoms(rows, widths[0], dtype=dtype, device=device)
    check(x, weights, [activation] * (len(weights) - 1) + ["none"], dtype, rows)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(40))
def test_any_stack_layout_and_type(seed: int, device: str) -> None:
    draw = random.Random(seed)
    dtype, layers = draw.choice(DTYPES), draw.randint(1, 5)
    widths = [int(2 ** draw.uniform(0, 9.5)) for _ in range(layers + 1)]
    rows = int(2 ** draw.uniform(0, 9))
    weights = [
        augmented_weight(outputs, inputs, dtype, device, draw.choice(["rows", "columns"]))
        for inputs, outputs in pairwise(widths)
    ]
    x = randoms(rows, widths[0], dtype=dtype, device=device)
    if draw.random() < 0.5:
        x = x.t().contiguous().t()
    check(x, weights, [draw.choice(ACTIVATIONS) for _ in weights], dtype, rows)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [6, 700])
def test_inputs_of_other_layouts_are_taken_as_they_are(rows: int, device: str) -> None:
    weight = augmented_weight(256, 200, torch.float32, device)
    cut = randoms(rows, 333, dtype=torch.float32, device=device)[:, 5:205]
    check(cut, [weight], ["relu"], torch.float32, rows)
    leading = randoms(2, rows // 2, 200, dtype=torch.float32, device=device)
    expected = reference.fused_linear(leading.double(), weight.double(), "relu")
    assert_near(fused_linear(leading, weight, "relu"), expected, torch.float32)
    alone = randoms(200, dtype=torch.float32, device=device)
    assert fused_linear(alone, weight).shape == (256,)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [6, 700])
def test_a_gradient_may_be_expanded(rows: int, device: str) -> None:
    x = randoms(rows, 200, dtype=torch.float32, device=device).requires_grad_()
    weight = augmented_weight(256, 200, torch.float32, device).requires_grad_()
    for activation in ("none", "relu"):
        to_weight = torch.autograd.grad(fused_linear(x, weight, activation).sum(), weight)[0]
        expected = torch.autograd.grad(reference.fused_linear(x, weight, activation).sum(), weight)[0]
        assert_near(to_weight, expected, torch.float32)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_are_those_of_finite_differences(activation: str, device: str) -> None:
    x = randoms(4, 5, dtype=torch.float64, device=device).requires_grad_()
    first = augmented_weight(3, 5, torch.float64, device).requires_grad_()
    second = augmented_weight(2, 3, torch.float64, device).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: fused_linear(x, w, activation), (x, first))
    stack = [activation, "none"]
    assert torch.autograd.gradcheck(lambda x, v, w: fused_mlp(x, [v, w], stack), (x, first, second))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_torch_accepts_the_registrations(activation: str, device: str) -> None:
    x = randoms(4, 5, dtype=torch.float32, device=device).requires_grad_()
    weights = [augmented_weight(3, 5, torch.float32, device), augmented_weight(2, 3, torch.float32, device)]
    weights = [weight.detach().requires_grad_() for weight in weights]
    torch.library.opcheck(torch.ops.sweeper.fused_linear, (x, weights[0], activation))
    torch.library.opcheck(torch.ops.sweeper.fused_mlp, (x, weights, [activation, "none"]))


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_of_gradients_are_refused(device: str) -> None:
    x = randoms(4, 5, dtype=torch.float32, device=device).requires_grad_()
    weight = augmented_weight(3, 5, torch.float32, device).requires_grad_()
    first = torch.autograd.grad(fused_linear(x, weight, "gelu").sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(first.sum(), weight)


@pytest.mark.parametrize("device", DEVICES)
def test_what_relu_cut_off_gives_no_gradient_and_a_nan_stays_one(device: str) -> None:
    weight = augmented_weight(8, 4, torch.float32, device).requires_grad_()
    x = torch.full((3, 4), float("nan"), device=device)
    assert bool(fused_linear(x, weight, "relu").isnan().all())
    dead = weight.detach().clone()
    dead[:, 0] = -1e6
    y = randoms(3, 4, dtype=torch.float32, device=device).requires_grad_()
    grad = torch.full((3, 8), float("inf"), device=device)
    assert bool((torch.autograd.grad(fused_linear(y, dead, "relu"), y, grad)[0] == 0).all())


@pytest.mark.parametrize("device", DEVICES)
def test_wrong_arguments_are_refused(device: str) -> None:
    x, weight = torch.zeros(2, 3, device=device), torch.zeros(5, 4, device=device)
    with pytest.raises(
        RuntimeError, match=r"expected a weight \[outputs, 1 \+ 3\] with the bias first, got sizes \[5, 3\]"
    ):
        fused_linear(x, weight[:, 1:])
    with pytest.raises(RuntimeError, match=r"expected weight of type float as x is, got double"):
        fused_linear(x, weight.double())
    with pytest.raises(RuntimeError, match=r"expected float32, float64, bfloat16 or float16, got int"):
        fused_linear(x.int(), weight.int())
    with pytest.raises(RuntimeError, match="expected activation 'none', 'relu', 'gelu' or 'sigmoid', got 'tanh'"):
        fused_linear(x, weight, "tanh")
    with pytest.raises(RuntimeError, match="expected one activation a weight, got 2 for 1"):
        fused_mlp(x, [weight], ["relu", "none"])
    with pytest.raises(RuntimeError, match="expected at least one weight"):
        fused_mlp(x, [], [])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_on_two_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="expected weight on cuda:0 as x is, got cpu"):
        fused_linear(torch.zeros(2, 3, device="cuda"), torch.zeros(5, 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("outputs", "inputs"), [(10, 32), (64, 576), (1, 1), (129, 7)])
def test_an_augmented_weight_is_aligned(outputs: int, inputs: int, dtype: torch.dtype) -> None:
    weight = empty_augmented(outputs, inputs, dtype=dtype)
    assert weight.shape == (outputs, 1 + inputs)
    assert weight.stride(0) == 1
    assert weight[:, 1:].data_ptr() % 16 == 0
    assert weight.stride(1) * dtype.itemsize % 16 == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [5, 700])
def test_a_weight_whose_elements_share_memory_has_a_gradient_of_its_own(rows: int, device: str) -> None:
    row = randoms(1, 301, dtype=torch.float32, device=device)
    weight = row.expand(64, 301).requires_grad_()
    x = randoms(rows, 300, dtype=torch.float32, device=device)
    (ours,) = torch.autograd.grad(fused_linear(x, weight, "relu").square().sum(), weight)
    (theirs,) = torch.autograd.grad(reference.fused_linear(x, weight, "relu").square().sum(), weight)
    assert_near(ours, theirs, torch.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_only_kept_for_the_backward_pass_has_no_gradient(device: str) -> None:
    x = randoms(4, 5, dtype=torch.float32, device=device)
    weights = [augmented_weight(3, 5, torch.float32, device), augmented_weight(2, 3, torch.float32, device)]
    weights = [weight.requires_grad_() for weight in weights]
    outputs, saved = torch.ops.sweeper.fused_mlp(x, weights, ["gelu", "none"])
    assert [output.requires_grad for output in (*outputs, *saved)] == [False, True, False, False]


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_of_another_shape_or_type_is_refused(device: str) -> None:
    x, weight, none = torch.zeros(4, 5, device=device), torch.zeros(3, 6, device=device), torch.zeros(0, device=device)
    backward = torch.ops.sweeper.fused_linear_backward
    with pytest.raises(RuntimeError, match=r"expected a gradient \[4, 3\], got sizes \[4, 2\]"):
        backward(torch.zeros(4, 2, device=device), x, weight, none, none, "none", True)
    with pytest.raises(RuntimeError, match="expected a gradient of type float"):
        backward(torch.zeros(4, 3, device=device).double(), x, weight, none, none, "none", True)


def test_shapes_follow_without_memory() -> None:
    x, weight = torch.zeros(4, 5, device="meta"), torch.zeros(3, 6, device="meta")
    assert fused_linear(x, weight, "gelu").shape == (4, 3)
