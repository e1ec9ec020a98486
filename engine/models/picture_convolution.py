"""The convolution over the pictures themselves, whose few channels the library's kernels are not made for."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Pair = tuple[int, int]
FEW_CHANNELS = 4
_MANY = 32  # pictures
_SMALL_SIDE = 64  # pixels, exclusive
_PATCHES = 1 << 26  # elements of unfolded pictures at once: 256 MiB


class PictureConv2d(nn.Conv2d):
    """An nn.Conv2d that computes its weight's gradient by products where that is faster.

    That is for batches of small pictures of few channels in float32 or tf32 on a GPU, when they need no gradient
    themselves. There the library's deterministic kernels take up to twenty times as long: of a step of alexnet-cifar of
    64 pictures, which takes 0.3 ms on an H200, they took 0.8.
    """

    def forward(self, input: Tensor) -> Tensor:
        """As nn.Conv2d: [images, channels, height, width] to [images, maps, height, width]."""
        if not self._goes_by_products(input):
            return super().forward(input)
        maps = self._by_products(input)
        return maps if self.bias is None else maps + self.bias[:, None, None]

    def maps(self, pictures: Tensor) -> Tensor:
        """The convolution without its bias."""
        if self._goes_by_products(pictures):
            return self._by_products(pictures)
        maps: Tensor = self._conv_forward(pictures, self.weight, None)
        return maps

    def _by_products(self, pictures: Tensor) -> Tensor:
        return by_products(pictures, self.weight, cast(Pair, self.stride), cast(Pair, self.padding))

    def _goes_by_products(self, pictures: Tensor) -> bool:
        return (
            pictures.is_cuda
            and len(pictures) >= _MANY
            and pictures.shape[1] <= FEW_CHANNELS
            and max(pictures.shape[2:]) < _SMALL_SIDE
            and pictures.dtype == self.weight.dtype == torch.float32
            and not torch.is_autocast_enabled("cuda")
            and not pictures.requires_grad
            and self.groups == 1
            and self.dilation == (1, 1)
            and self.padding_mode == "zeros"
            and not isinstance(self.padding, str)
        )


def by_products(pictures: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
    """conv2d without a bias. Differentiable, once, with respect to `weight` alone."""
    result: Tensor = _ByProducts.apply(pictures, weight, stride, padding)  # type: ignore[no-untyped-call]
    return result


class _ByProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pictures: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
        ctx.save_for_backward(pictures)
        ctx.stride, ctx.padding, ctx.shape = stride, padding, weight.shape
        return F.conv2d(pictures, weight, None, stride, padding)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None, None]:
        (pictures,) = ctx.saved_tensors
        maps, channels, *kernel = ctx.shape
        flowing = grad.permute(0, 2, 3, 1).flatten(1, 2)  # [images, positions, maps]
        total = grad.new_zeros(maps, ctx.shape[1:].numel())
        step = max(1, _PATCHES // (total.shape[1] * flowing.shape[1]))
        for part, gradient in zip(torch.split(pictures, step), torch.split(flowing, step), strict=True):
            total += torch.bmm(gradient.transpose(1, 2), _patches(part, kernel, ctx.stride, ctx.padding)).sum(0)
        return None, total.view(maps, *kernel, channels).permute(0, 3, 1, 2), None, None


def _patches(pictures: Tensor, kernel: list[int], stride: Pair, padding: Pair) -> Tensor:
    """What the kernel sees at each position: [images, positions, kernel height x width x channels], in one copy."""
    padded = F.pad(pictures, (padding[1], padding[1], padding[0], padding[0])).permute(0, 2, 3, 1).contiguous()
    images, height, width, channels = padded.shape
    places = [(side - size) // by + 1 for side, size, by in zip((height, width), kernel, stride, strict=True)]
    row = width * channels
    # In a row of a picture the kernel's columns and channels lie one after another.
    windows = padded.as_strided(
        (images, *places, kernel[0], kernel[1] * channels),
        (height * row, stride[0] * row, stride[1] * channels, row, 1),
    )
    return windows.reshape(images, places[0] * places[1], -1)
