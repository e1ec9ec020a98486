"""The operators in plain PyTorch, in the clearest form: what the compiled ones are tested against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda z: z,
    "relu": F.relu,
    "gelu": lambda z: F.gelu(z, approximate="tanh"),
    "sigmoid": torch.sigmoid,
}


def shift_right(x: Tensor, fill: float = 1.0) -> Tensor:
    """[rows, cols] -> [rows, 1 + cols], the new first column filled (the paper's figure 4.2.1)."""
    return F.pad(x, (1, 0), value=fill)  # [rows, 1 + cols]


def shift_left(x: Tensor) -> Tensor:
    """[rows, 1 + cols] -> [rows, cols], without the first column (the paper's figure 4.3.1)."""
    return x[:, 1:].clone()  # [rows, cols]


def shift_right_(storage: Tensor, rows: int, cols: int, fill: float = 1.0) -> None:
    """The matrix [rows, cols] at the beginning of `storage` becomes [rows, 1 + cols]."""
    flat = storage.view(-1)
    flat[: rows * (cols + 1)] = shift_right(flat[: rows * cols].reshape(rows, cols).clone(), fill).reshape(-1)


def shift_left_(storage: Tensor, rows: int, cols: int) -> None:
    """The matrix [rows, 1 + cols] at the beginning of `storage` becomes [rows, cols]; what lies behind stays."""
    flat = storage.view(-1)
    flat[: rows * cols] = shift_left(flat[: rows * (cols + 1)].reshape(rows, cols + 1)).reshape(-1)


def fused_linear(x: Tensor, weight: Tensor, activation: str = "none") -> Tensor:
    """activation([1, x] weight^T) for x [rows, inputs] and weight [outputs, 1 + inputs] (the paper's section 4)."""
    return ACTIVATIONS[activation](F.linear(x, weight[:, 1:], weight[:, 0]))  # [rows, outputs]


def fused_mlp(x: Tensor, weights: Sequence[Tensor], activations: Sequence[str]) -> Tensor:
    """`fused_linear` for one layer after another."""
    for weight, activation in zip(weights, activations, strict=True):
        x = fused_linear(x, weight, activation)
    return x


def relu_avg_pool(x: Tensor, bias: Tensor, size: int, stride: int) -> Tensor:
    """The mean over windows of relu(x + bias) for x [images, channels, height, width] and bias [channels]."""
    return F.avg_pool2d(F.relu(x + bias[:, None, None]), size, stride)


def picture_conv(pictures: Tensor, weight: Tensor, padding: int, dtype: torch.dtype | None = None) -> Tensor:
    """A convolution of stride 1 over pictures [images, channels, height, width]."""
    return F.conv2d(pictures, weight, padding=padding).to(dtype or pictures.dtype)


def sgd_step_(weights: Tensor, gradients: Tensor, velocity: Tensor | None, numbers: Tensor) -> None:
    """A step of SGD (Sutskever et al., On the importance of initialization and momentum, 2013, as torch has it)."""
    rate, momentum, decay = numbers.tolist()
    step = (gradients + decay * weights.double()).to(weights.dtype)
    if velocity is not None:
        step = velocity.copy_(momentum * velocity.double() + step)
    weights.copy_(weights - rate * step.double())
