"""The gradient of a convolution's weights: near torch's in float64, and the same in every run."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from cuda_ext import maps_weight_gradient
from tests.cuda_ext.devices import DEVICES, randoms

# Images, channels, height, width, maps, kernel, padding: those of alexnet-cifar, and edges of what is taken.
SHAPES = [
    (16, 32, 15, 15, 32, 5, 2),
    (130, 32, 7, 7, 64, 5, 2),
    (3, 64, 6, 9, 96, 5, 1),
    (600, 8, 4, 5, 32, 3, 1),
    (2, 24, 40, 33, 32, 3, 0),
    (1, 16, 5, 5, 32, 5, 0),
    (2, 40, 9, 3, 32, 5, 4),
    (0, 32, 15, 15, 32, 5, 2),
]


def given(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> tuple[Tensor, Tensor]:
    images, channels, height, width, maps, kernel, padding = shape
    maps_in = randoms(images, channels, height, width, dtype=dtype, device=device)
    sides = [side + 2 * padding - kernel + 1 for side in (height, width)]
    return randoms(images, maps, *sides, dtype=dtype, device=device, seed=1), maps_in


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_near_torchs_in_float64(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    grad, maps = given(shape, dtype, device)
    kernel, padding = shape[5:]
    found = maps_weight_gradient(grad, maps, kernel, padding)
    weight = torch.zeros(shape[4], shape[1], kernel, kernel, dtype=torch.float64, device=device, requires_grad=True)
    result = F.conv2d(maps.double(), weight, padding=padding)
    (exact,) = torch.autograd.grad(result, weight, grad.double())
    assert (found.shape, found.dtype) == (weight.shape, torch.float32)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert (found.double() - exact).norm() <= 2e-3 * exact.norm()


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_the_same_in_every_run_and_for_each_layout(device: str) -> None:
    grad, maps = given((300, 32, 15, 15, 32, 5, 2), torch.float32, device)
    last = torch.channels_last
    found = [maps_weight_gradient(grad, maps, 5, 2) for _ in range(2)]
    assert torch.equal(*found)
    if device != "cpu":
        laid_out = grad.contiguous(memory_format=last), maps.contiguous(memory_format=last)
        assert torch.equal(maps_weight_gradient(*laid_out, 5, 2), found[0])


@pytest.mark.parametrize("device", DEVICES)
def test_what_does_not_fit_is_refused(device: str) -> None:
    grad, maps = torch.ones(2, 32, 8, 8, device=device), torch.ones(2, 8, 8, 8, device=device)
    for wrong, message in (
        ((grad.double(), maps.double(), 3, 1), "expected float32 or bfloat16 maps"),
        ((grad.bfloat16(), maps, 3, 1), "expected gradients .* of float"),
        ((grad, maps, 4, 1), "expected a kernel of 3 x 3 or 5 x 5, got 4"),
        ((grad, torch.ones(2, 12, 8, 8, device=device), 3, 1), "a multiple of 8 channels, at most 64, got 12"),
        ((grad, torch.ones(2, 72, 8, 8, device=device), 3, 1), "at most 64, got 72"),
        ((torch.ones(2, 16, 8, 8, device=device), maps, 3, 1), "expected a multiple of 32 maps, got 16"),
        ((grad, maps, 3, 0), "expected gradients of 2 images of 6 x 6"),
        ((grad, maps, 3, -1), "a padding of at least 0, got -1"),
    ):
        with pytest.raises(RuntimeError, match=message):
            maps_weight_gradient(*wrong)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_contract(device: str) -> None:
    arguments = (*given((2, 8, 6, 6, 32, 3, 1), torch.float32, device), 3, 1)
    torch.library.opcheck(torch.ops.sweeper.maps_weight_gradient, arguments)
    compiled = torch.compile(lambda g, m: maps_weight_gradient(g, m, 3, 1), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*arguments[:2]), maps_weight_gradient(*arguments))
