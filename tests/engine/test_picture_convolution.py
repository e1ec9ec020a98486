"""The weight's gradient by products over unfolded pictures, beside the library's."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from engine.models import picture_convolution
from engine.models.picture_convolution import PictureConv2d, by_products

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [((5, 5), (1, 1), (2, 2)), ((3, 2), (2, 1), (0, 1))])
def test_gradients_are_the_librarys(
    device: str,
    layout: torch.memory_format,
    in_parts: bool,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if in_parts:
        monkeypatch.setattr(picture_convolution, "_PATCHES", 4 * 3 * 25 * 99)
    generator = torch.Generator().manual_seed(1)
    pictures = torch.randn(7, 3, 11, 9, dtype=torch.float64, generator=generator).to(device)
    weight = torch.randn(6, 3, *kernel, dtype=torch.float64, generator=generator).to(device)
    pictures, weight = (tensor.contiguous(memory_format=layout) for tensor in (pictures, weight))
    weight.requires_grad_()
    expected = F.conv2d(pictures, weight, None, stride, padding)
    found = by_products(pictures, weight, stride, padding)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn(expected.shape, dtype=torch.float64, generator=generator).to(device)
    torch.testing.assert_close(
        torch.autograd.grad(found, weight, gradient), torch.autograd.grad(expected, weight, gradient)
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [1, 64])
def test_on_a_gpu_the_module_computes_as_conv2d_does(bias: bool, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    ours = PictureConv2d(3, 8, 5, padding=2, bias=bias, device="cuda")
    theirs = torch.nn.Conv2d(3, 8, 5, padding=2, bias=bias, device="cuda")
    theirs.load_state_dict(ours.state_dict())
    pictures = torch.randn(batch, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    results = [module(pictures) for module in (ours, theirs)]
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    kept = [
        torch.autograd.grad(result.square().sum(), list(module.parameters()))
        for result, module in zip(results, (ours, theirs), strict=True)
    ]
    torch.testing.assert_close(*kept, rtol=1e-3, atol=1e-2)
