"""Bias, ReLU and average pooling in one pass, beside the same in plain PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext import reference, relu_avg_pool
from tests.cuda_ext.devices import DEVICES, DTYPES, assert_near, randoms

WINDOWS = [(3, 2), (2, 2), (3, 1), (1, 3), (2, 5)]
# Channels of whole vectors and several, of some left over, of less than one; maps that windows do not divide.
SHAPES = [(3, 32, 15, 15), (2, 104, 7, 9), (5, 5, 8, 5), (1, 1, 5, 5)]


def sums_of(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def assert_right(x: Tensor, bias: Tensor, size: int, stride: int) -> None:
    """Result and gradients beside the reference in float64."""
    x, bias = x.detach().requires_grad_(), bias.detach().requires_grad_()
    result = relu_avg_pool(x, bias, size, stride)
    inputs = x.detach().double().requires_grad_(), bias.detach().double().requires_grad_()
    exact = reference.relu_avg_pool(*inputs, size, stride)
    assert_near(result, exact.detach(), x.dtype)
    grad = randoms(*exact.shape, dtype=x.dtype, device=str(x.device), seed=2)
    expected = torch.autograd.grad(exact, inputs, grad.double())
    found = torch.autograd.grad(result, (x, bias), grad)
    assert_near(found[0], expected[0], x.dtype)
    assert_near(found[1], expected[1], bias.dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "stride"), WINDOWS)
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_results_and_gradients_are_those_of_plain_torch(
    device: str, dtype: torch.dtype, size: int, stride: int, layout: torch.memory_format
) -> None:
    for shape in SHAPES:
        x = randoms(*shape, dtype=dtype, device=device).contiguous(memory_format=layout)
        assert_right(x, randoms(shape[1], dtype=sums_of(dtype), device=device, seed=1), size, stride)


@pytest.mark.parametrize("device", DEVICES)
def test_many_images_and_many_channels(device: str) -> None:
    for shape in ((700, 32, 32, 32), (3, 1500, 6, 6)):
        x = randoms(*shape, dtype=torch.float32, device=device).contiguous(memory_format=torch.channels_last)
        assert_right(x, randoms(shape[1], dtype=torch.float32, device=device, seed=1), 3, 2)


@pytest.mark.parametrize("device", DEVICES)
def test_no_images_give_no_maps_and_no_gradient(device: str) -> None:
    x, bias = torch.zeros(0, 8, 5, 5, device=device), torch.ones(8, device=device, requires_grad=True)
    result = relu_avg_pool(x.requires_grad_(), bias, 3, 2)
    assert result.shape == (0, 8, 2, 2)
    assert torch.equal(torch.autograd.grad(result.sum(), bias)[0], torch.zeros_like(bias))


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_no_number_stays_seen_and_gets_no_gradient(device: str) -> None:
    x = torch.zeros(1, 8, 4, 4, device=device)
    x[0, 3, 0, 0] = float("nan")
    x.requires_grad_()
    result = relu_avg_pool(x, torch.zeros(8, device=device), 2, 2)
    assert result.isnan().nonzero().tolist() == [[0, 3, 0, 0]]
    assert torch.autograd.grad(result, x, torch.full_like(result, float("inf")))[0].abs().max() == 0


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_gradients_again_with_any_number_of_threads(device: str) -> None:
    x = randoms(65, 32, 15, 15, dtype=torch.float32, device=device).requires_grad_()
    bias = randoms(32, dtype=torch.float32, device=device, seed=1).requires_grad_()
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(torch.autograd.grad(relu_avg_pool(x, bias, 3, 2).square().sum(), (x, bias)))
    torch.set_num_threads(before)
    assert all(torch.equal(*pair) for other in found[1:] for pair in zip(found[0], other, strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_numerical_gradients_and_tracing(device: str) -> None:
    x = randoms(2, 5, 6, 7, dtype=torch.float64, device=device).requires_grad_()
    bias = randoms(5, dtype=torch.float64, device=device, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, bias: relu_avg_pool(x, bias, 3, 2), (x, bias))
    for tensor in (x, x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()):
        torch.library.opcheck(torch.ops.sweeper.relu_avg_pool.default, (tensor, bias, 3, 2))


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_compiled_in_one_graph(device: str) -> None:
    x = randoms(2, 8, 6, 6, dtype=torch.float32, device=device).requires_grad_()
    bias = randoms(8, dtype=torch.float32, device=device, seed=1).requires_grad_()

    def work(x: Tensor, bias: Tensor) -> Tensor:
        return relu_avg_pool(x * 2, bias, 3, 2).square().sum()

    found = torch.autograd.grad(torch.compile(work, fullgraph=True, backend="aot_eager")(x, bias), (x, bias))
    torch.testing.assert_close(found, torch.autograd.grad(work(x, bias), (x, bias)))


@pytest.mark.parametrize("device", DEVICES)
def test_a_bias_of_the_maps_type_is_cast(device: str) -> None:
    x = randoms(2, 8, 6, 6, dtype=torch.bfloat16, device=device)
    bias = randoms(8, dtype=torch.bfloat16, device=device, seed=1).requires_grad_()
    result = relu_avg_pool(x, bias, 2, 2)
    assert_near(result, reference.relu_avg_pool(x.double(), bias.detach().double(), 2, 2), torch.bfloat16)
    assert torch.autograd.grad(result.sum(), bias)[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("x", "bias", "size", "stride", "said"),
    [
        (torch.zeros(2, 3, 4), torch.zeros(3), 2, 2, "expected maps [images, channels, height, width]"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(4), 2, 2, "expected a dense bias [3]"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(6)[::2], 2, 2, "expected a dense bias [3]"),
        (torch.zeros(1, 3, 4, 9), torch.zeros(3), 5, 2, "expected size from 1 to 4"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(3), 0, 2, "expected size from 1 to 4"),
        (torch.zeros(1, 3, 4, 4), torch.zeros(3), 2, 0, "expected stride >= 1"),
        (torch.zeros(1, 3, 4, 4, dtype=torch.int32), torch.zeros(3), 2, 2, "expected float32"),
    ],
)
def test_what_cannot_be_pooled_is_refused(x: Tensor, bias: Tensor, size: int, stride: int, said: str) -> None:
    with pytest.raises(RuntimeError, match="relu_avg_pool") as caught:
        relu_avg_pool(x, bias, size, stride)
    assert said in str(caught.value)


def test_there_is_no_second_derivative() -> None:
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    (first,) = torch.autograd.grad(relu_avg_pool(x, torch.zeros(2), 2, 2).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(first.sum(), x)
