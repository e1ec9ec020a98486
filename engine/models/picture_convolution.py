"""The convolution over the pictures themselves, whose few channels the library's kernels are not made for."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.precision import has_tf32

Pair = tuple[int, int]
FEW_CHANNELS = 4
_MANY = 32  # pictures
_SMALL_SIDE = 64  # pixels, exclusive
_FUSED_SIDE, _FUSED_KERNELS, _FUSED_ROW, _FUSED_MAPS = 64, (3, 5), 16, 16  # what cuda_ext.picture_conv takes
_GRADIENT_CHANNELS, _MOST_CHANNELS, _GRADIENT_MAPS = 8, 64, 32  # what cuda_ext.maps_weight_gradient takes
_SMALL_MAPS = 16  # pixels of a side
_MANY_MAPS, _LARGER_MAPS = 128, 100  # more than so many images need maps of so many pixels
_PATCHES = 1 << 26  # elements of unfolded pictures at once: 256 MiB


class PictureConv2d(nn.Conv2d):
    """An nn.Conv2d that computes by other ways where these are faster, and as deterministic.

    That is on a GPU for small pictures of few channels that need no gradient themselves. Where `fused` allows it,
    `cuda_ext.picture_conv` computes products in tf32 or bfloat16: of a step of alexnet-cifar of 512 pictures in
    bfloat16, which took 0.69 ms on an H200, the library's kernels took 0.26 for this layer. Otherwise products compute
    the weight's gradient, in float32 or tf32 and of many pictures: the library's kernels take up to twenty times as
    long.
    """

    fused = False

    def forward(self, input: Tensor) -> Tensor:
        """As nn.Conv2d: [images, channels, height, width] to [images, maps, height, width]."""
        if not (self._is_fused(input) or self._goes_by_products(input)):
            return super().forward(input)
        maps = self.maps(input)
        return maps if self.bias is None else maps + self.bias.to(maps.dtype)[:, None, None]

    def maps(self, pictures: Tensor) -> Tensor:
        """The convolution without its bias."""
        if self._is_fused(pictures):
            from cuda_ext import picture_conv

            dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else torch.float32
            return picture_conv(pictures, self.weight, cast(Pair, self.padding)[0], dtype)
        if self._has_own_gradient(pictures):
            learnt: Tensor = _OwnGradient.apply(pictures, self.weight, self.padding[0])  # type: ignore[no-untyped-call]
            return learnt
        if self._goes_by_products(pictures):
            return self._by_products(pictures)
        maps: Tensor = self._conv_forward(pictures, self.weight, None)
        return maps

    def _is_fused(self, pictures: Tensor) -> bool:
        """Whether `picture_conv` takes pictures like these, and computes as the settings ask for."""
        return (
            self._takes(pictures)
            and self._computes_in_tf32()
            and not pictures.requires_grad
            and pictures.dtype == torch.float32
            and max(pictures.shape[2:]) <= _FUSED_SIDE
            and self.kernel_size[0] * pictures.shape[1] <= _FUSED_ROW
            and self.out_channels % _FUSED_MAPS == 0
        )

    def _has_own_gradient(self, maps: Tensor) -> bool:
        """Whether `maps_weight_gradient` takes maps like these, and is faster than the library: in tf32 it often is."""
        height, width = maps.shape[2:]
        return (
            self._takes(maps)
            and self._computes_in_tf32()
            and not torch.is_autocast_enabled("cuda")
            and max(height, width) <= _SMALL_MAPS
            and (len(maps) <= _MANY_MAPS or height * width >= _LARGER_MAPS)
            and maps.shape[1] % _GRADIENT_CHANNELS == 0
            and maps.shape[1] <= _MOST_CHANNELS
            and self.out_channels % _GRADIENT_MAPS == 0
        )

    def _computes_in_tf32(self) -> bool:
        """Whether our operators compute as precisely as the settings ask for, and take windows like these."""
        kernel = self.kernel_size[0]
        return (
            self.fused
            and self.kernel_size == (kernel, kernel)
            and kernel in _FUSED_KERNELS
            and self.stride == (1, 1)
            and self.padding[0] == self.padding[1]
            and has_tf32(self.weight.device)
            and (
                torch.get_autocast_dtype("cuda") == torch.bfloat16
                if torch.is_autocast_enabled("cuda")
                else torch.backends.cudnn.allow_tf32
            )
        )

    def _by_products(self, pictures: Tensor) -> Tensor:
        return by_products(pictures, self.weight, cast(Pair, self.stride), cast(Pair, self.padding))

    def _goes_by_products(self, pictures: Tensor) -> bool:
        return (
            self._takes(pictures)
            and len(pictures) >= _MANY
            and pictures.shape[1] <= FEW_CHANNELS
            and max(pictures.shape[2:]) < _SMALL_SIDE
            and not pictures.requires_grad
            and pictures.dtype == torch.float32
            and not torch.is_autocast_enabled("cuda")
        )

    def _takes(self, pictures: Tensor) -> bool:
        """Whether these are on a GPU, and the convolution is a plain one."""
        return (
            pictures.is_cuda
            and self.weight.dtype == torch.float32
            and self.groups == 1
            and self.dilation == (1, 1)
            and self.padding_mode == "zeros"
            and not isinstance(self.padding, str)
        )


def by_products(pictures: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
    """conv2d without a bias. Differentiable, once, with respect to `weight` alone."""
    result: Tensor = _ByProducts.apply(pictures, weight, stride, padding)  # type: ignore[no-untyped-call]
    return result


class _OwnGradient(torch.autograd.Function):
    """conv2d of stride 1 without a bias; the gradient of its weight is our own operator's, differentiable once."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, padding: int) -> Tensor:
        ctx.save_for_backward(maps, weight)
        ctx.padding = padding
        return F.conv2d(maps, weight, None, 1, padding)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None]:
        from cuda_ext import maps_weight_gradient

        maps, weight = ctx.saved_tensors
        to_maps = None
        if ctx.needs_input_grad[0]:
            places = ([1, 1], [ctx.padding] * 2, [1, 1], False, [0, 0], 1, [True, False, False])
            to_maps = torch.ops.aten.convolution_backward(grad, maps, weight, None, *places)[0]
        return to_maps, maps_weight_gradient(grad, maps, weight.shape[2], ctx.padding), None


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
