"""The shapes of a network's layers, as the choice of algorithms needs them."""

from __future__ import annotations

from contextlib import ExitStack
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from engine.channel_parallel.algorithms import ConvolutionShape
from engine.errors import ModelError


def shapes_of(network: nn.Module, sample_shape: tuple[int, ...], batch: int) -> dict[str, ConvolutionShape]:
    """The convolutions and hidden fully connected layers by name, in the order of a forward pass of `batch` samples.

    A fully connected layer is a convolution over one pixel. The last is left out: `split_network` splits it in one way
    only. Nothing is computed: the pass goes over torch's meta device.

    Raises:
        ModelError: a convolution with groups, or a fully connected layer over more than samples and features.
    """
    on_meta = deepcopy(network).to("meta").eval()  # in training, batch normalisation wants several values a channel
    found: dict[str, ConvolutionShape] = {}
    last = [name for name, layer in on_meta.named_modules() if isinstance(layer, nn.Linear)][-1:]

    def seen(name: str) -> Any:
        def hook(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            found[name] = _shape(name, layer, inputs[0], output)

        return hook

    with ExitStack() as hooks:
        for name, layer in on_meta.named_modules():
            if isinstance(layer, nn.Conv2d | nn.Linear) and name not in last:
                hooks.callback(layer.register_forward_hook(seen(name)).remove)
        on_meta(torch.empty(batch, *sample_shape, device="meta"))
    return found


def padded_before(layer: nn.Conv2d) -> list[int]:
    """Pixels that a convolution adds left, right, above and below before it begins.

    Empty if it pads with zeros, as many on both sides: then the convolution itself takes them in.
    """
    around: list[int] = layer._reversed_padding_repeated_twice
    left, right, top, bottom = around
    return [] if layer.padding_mode == "zeros" and left == right and top == bottom else around


def _shape(name: str, layer: nn.Module, x: Tensor, y: Tensor) -> ConvolutionShape:
    has_bias = layer.bias is not None
    if not isinstance(layer, nn.Conv2d):
        if x.dim() != 2:
            raise ModelError(
                f"model: layer {name!r} takes {x.dim()} dimensions, and only fully connected layers over [samples, "
                "features] are split",
                "choose a model of convolutions",
            )
        return ConvolutionShape(
            len(x), x.shape[1], y.shape[1], (1, 1), (1, 1), (1, 1), has_bias=has_bias, is_product=True
        )
    if layer.groups != 1:
        raise ModelError(
            f"model: layer {name!r} has {layer.groups} groups, and only convolutions of 1 group are split",
            "choose a model without grouped convolutions",
        )
    before = padded_before(layer)
    left, right, top, bottom = before or (0, 0, 0, 0)
    around = layer._reversed_padding_repeated_twice
    return ConvolutionShape(
        len(x),
        x.shape[1],
        y.shape[1],
        _pair(layer.kernel_size),
        (x.shape[2] + top + bottom, x.shape[3] + left + right),
        (y.shape[2], y.shape[3]),
        has_bias=has_bias,
        stride=_pair(layer.stride),
        padding=(0, 0) if before else (around[2], around[0]),
        dilation=_pair(layer.dilation),
    )


def _pair(sides: tuple[int, ...]) -> tuple[int, int]:
    return sides[0], sides[1]
