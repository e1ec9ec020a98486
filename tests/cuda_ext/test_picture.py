"""Convolutions over pictures of few channels: near the reference's values and gradients, the same in every run."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext import picture_conv, reference
from tests.cuda_ext.devices import DEVICES, assert_near, randoms

# Images, channels, height, width, maps, kernel, padding: those of the networks, and edges of what is taken.
SHAPES = [
    (7, 3, 32, 32, 32, 5, 2),
    (5, 1, 28, 28, 32, 5, 2),
    (3, 1, 8, 8, 16, 5, 2),
    (600, 3, 9, 7, 16, 3, 1),
    (2, 3, 64, 64, 96, 5, 2),
    (3, 5, 12, 17, 48, 3, 0),
    (1, 4, 5, 6, 16, 3, 2),
    (2, 2, 5, 5, 32, 5, 0),
    (0, 3, 8, 8, 16, 3, 1),
]
TF32 = 2e-3  # of a norm: products of numbers of 10 bits


def near(result: Tensor, exact: Tensor, tolerance: float) -> bool:
    return bool((result.double() - exact.double()).norm() <= tolerance * exact.double().norm())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradient_are_near_the_references(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    images, channels, height, width, maps, kernel, padding = shape
    pictures = randoms(images, channels, height, width, dtype=torch.float32, device=device)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    weight = randoms(maps, channels, kernel, kernel, dtype=torch.float32, device=device, seed=1).requires_grad_()
    result = picture_conv(pictures, weight, padding, dtype)
    exact_weight = weight.detach().double().requires_grad_()
    exact = reference.picture_conv(pictures.double(), exact_weight, padding)
    assert (result.shape, result.dtype) == (exact.shape, dtype)
    assert result.is_contiguous(memory_format=torch.channels_last)
    tolerance = TF32 if dtype == torch.float32 else 1e-2
    assert near(result, exact, tolerance)
    grad = randoms(*result.shape, dtype=torch.float32, device=device, seed=2).to(dtype)
    (ours,) = torch.autograd.grad(result, weight, grad)
    (theirs,) = torch.autograd.grad(exact, exact_weight, grad.double())
    assert ours.shape == weight.shape
    assert near(ours, theirs, TF32)


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_the_same_in_every_run_and_for_each_layout(device: str) -> None:
    pictures = randoms(300, 3, 32, 32, dtype=torch.float32, device=device)
    weight = randoms(32, 3, 5, 5, dtype=torch.float32, device=device, seed=1).requires_grad_()
    found = []
    for given in (pictures, pictures, pictures.contiguous(memory_format=torch.channels_last)):
        result = picture_conv(given, weight, 2)
        (gradient,) = torch.autograd.grad(result, weight, torch.ones_like(result))
        found.append((result.detach(), gradient))
    for result, gradient in found[1:2] if device == "cpu" else found[1:]:
        assert torch.equal(result, found[0][0])
        assert torch.equal(gradient, found[0][1])


@pytest.mark.parametrize("device", DEVICES)
def test_a_diverged_weight_shows(device: str) -> None:
    pictures = torch.ones(2, 3, 8, 8, device=device)
    weight = torch.full((16, 3, 3, 3), torch.nan, device=device)
    assert picture_conv(pictures, weight, 1).isnan().all()


@pytest.mark.parametrize("device", DEVICES)
def test_what_does_not_fit_is_refused(device: str) -> None:
    pictures, weight = torch.ones(2, 3, 8, 8, device=device), torch.ones(16, 3, 3, 3, device=device)
    for wrong, message in (
        ((pictures.double(), weight, 1), "expected float32 pictures"),
        ((pictures, weight.double(), 1), "expected a float32 weight"),
        ((pictures, torch.ones(16, 3, 4, 4, device=device), 1), "expected a kernel of 3 x 3 or 5 x 5, got 4"),
        ((pictures, torch.ones(12, 3, 3, 3, device=device), 1), "expected a multiple of 16 maps, got 12"),
        ((pictures, torch.ones(16, 2, 3, 3, device=device), 1), "expected a weight of 3 channels"),
        ((torch.ones(1, 6, 8, 8, device=device), torch.ones(16, 6, 3, 3, device=device), 1), "at most 5 channels"),
        ((torch.ones(1, 3, 2, 2, device=device), weight, 0), "smaller than the kernel of 3"),
        ((pictures, weight, 3), "a padding below the kernel's 3, got 3"),
        ((torch.ones(1, 3, 65, 8, device=device), weight, 1), "at most 64 x 64 pixels, got 65 x 8"),
        ((pictures.clone().requires_grad_(), weight, 1), "pictures get no gradient"),
    ):
        with pytest.raises(RuntimeError, match=message):
            picture_conv(*wrong)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_contract(device: str) -> None:
    pictures = randoms(2, 3, 8, 8, dtype=torch.float32, device=device)
    weight = randoms(16, 3, 3, 3, dtype=torch.float32, device=device, seed=1).requires_grad_()
    torch.library.opcheck(torch.ops.sweeper.picture_conv, (pictures, weight, 1))
    grad = torch.ones(2, 16, 8, 8, device=device)
    torch.library.opcheck(torch.ops.sweeper.picture_conv_weight_gradient, (grad, pictures, 3, 1))
    compiled = torch.compile(lambda x, w: picture_conv(x, w, 1), fullgraph=True, backend="aot_eager")
    assert_near(compiled(pictures, weight), picture_conv(pictures, weight, 1), torch.float32)
