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

_BITS = 24  # of a random number that are used
# SplitMix64's constants, as signed numbers.
_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
_LAST_SHIFT = 31
_DRAWS = 8  # numbers that belong to a place, of which 5 are used


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


def augmented(pictures: Tensor, positions: Tensor, start: int | Tensor, flip: bool, shift: int, cutout: int) -> Tensor:
    """Flips and shifts (He et al., Deep residual learning, 2016, section 4.2) and Cutout (DeVries, Taylor, 2017).

    Of `pictures` [n, channels, height, width] at `positions` [n] of a stream, which with `start` alone say what is
    drawn. A shift moves a picture by a whole number of pixels in [-shift, shift] in each direction; what comes in is
    0, as is Cutout's square. Its centre is anywhere in the picture, so that the square may reach over its edge.
    """
    height, width = pictures.shape[2:]
    rows, kept_rows = _moved(positions, start, 0, height, shift)
    columns, kept_columns = _moved(positions, start, 1, width, shift)
    if flip:
        mirrored = _draw(positions, start, 2, 2).bool()[:, None]
        columns = torch.where(mirrored, width - 1 - columns, columns)
    kept = kept_rows[:, :, None] & kept_columns[:, None, :]
    if cutout:
        kept = kept & ~_cut(positions, start, height, width, cutout)
    return torch.where(kept[:, None], _gathered(pictures, rows, columns), 0.0)


def random_bits(counters: Tensor, start: int | Tensor) -> Tensor:
    """24 random bits for each int64 counter [n]: the number of that index, from the state `start`, of SplitMix64.

    Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
    """
    mixed = counters * _GAMMA + start  # int64 wraps around, as the generator's arithmetic does
    for by, factor in _MIX:
        mixed = (mixed ^ _logical_shift(mixed, by)) * factor
    return _logical_shift(mixed ^ _logical_shift(mixed, _LAST_SHIFT), 64 - _BITS)


def _moved(positions: Tensor, start: int | Tensor, draw: int, pixels: int, shift: int) -> tuple[Tensor, Tensor]:
    """For each pixel [n, pixels] of a side the one that it shows, and whether there is one."""
    source = torch.arange(pixels, device=positions.device).expand(len(positions), pixels)
    if shift:
        source = source + (_draw(positions, start, draw, 2 * shift + 1) - shift)[:, None]
    return source.clamp(0, pixels - 1), (source >= 0) & (source < pixels)


def _cut(positions: Tensor, start: int | Tensor, height: int, width: int, side: int) -> Tensor:
    inside = []
    for draw, pixels in ((3, height), (4, width)):
        first = _draw(positions, start, draw, pixels)[:, None] - side // 2
        places = torch.arange(pixels, device=positions.device)
        inside.append((places >= first) & (places < first + side))
    return inside[0][:, :, None] & inside[1][:, None, :]


def _draw(positions: Tensor, start: int | Tensor, draw: int, choices: int) -> Tensor:
    """Numbers [n] from 0 to `choices` - 1."""
    return (random_bits(positions * _DRAWS + draw, start) * choices) >> _BITS


def _logical_shift(values: Tensor, bits: int) -> Tensor:
    """Unsigned `values` >> `bits`, of int64."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _gathered(pictures: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels of `pictures` [n, c, h, w] at `rows` [n, h] and `columns` [n, w], laid out as these are."""
    numbers = torch.arange(len(pictures), device=pictures.device)
    if pictures.is_contiguous():
        channels = torch.arange(pictures.shape[1], device=pictures.device)
        return pictures[
            numbers[:, None, None, None],
            channels[None, :, None, None],
            rows[:, None, :, None],
            columns[:, None, None, :],
        ]
    last = pictures.permute(0, 2, 3, 1)
    return last[numbers[:, None, None], rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
