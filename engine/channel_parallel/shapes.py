"""The shapes of a network's layers, as the choice of algorithms needs them."""

from __future__ import annotations

from contextlib import ExitStack
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from engine.channel_parallel.algorithms import ConvolutionShape


def shapes_of(network: nn.Module, sample_shape: tuple[int, ...], batch: int) -> dict[str, ConvolutionShape]:
    """The convolutions and hidden fully connected layers by name, in the order of a forward pass of `batch` samples.

    A fully connected layer is a convolution over one pixel. The last is left out: `split_network` splits it in one way
    only. Nothing is computed: the pass goes over torch's meta device.
    """
    on_meta = deepcopy(network).to("meta").eval()  # in training, batch normalisation wants several values a channel
    found: dict[str, ConvolutionShape] = {}
    last = [name for name, layer in on_meta.named_modules() if isinstance(layer, nn.Linear)][-1:]

    def seen(name: str) -> Any:
        def hook(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            found[name] = _shape(layer, inputs[0], output)

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


def _shape(layer: nn.Module, x: Tensor, y: Tensor) -> ConvolutionShape:
    if isinstance(layer, nn.Conv2d):
        window = (layer.kernel_size[0], layer.kernel_size[1])
        left, right, top, bottom = padded_before(layer) or (0, 0, 0, 0)
        sizes = (x.shape[2] + top + bottom, x.shape[3] + left + right), (y.shape[2], y.shape[3])
    else:
        window, sizes = (1, 1), ((1, 1), (1, 1))
    return ConvolutionShape(len(x), x.shape[1], y.shape[1], window, *sizes, has_bias=layer.bias is not None)
