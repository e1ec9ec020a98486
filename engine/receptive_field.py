"""Receptive fields: which part of a network's input one place of a map depends on, operation by operation.

Only windows count. What normalisation takes from all places (means and variances) does not widen a field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from torch import Tensor

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Side:
    """Height or width of a receptive field, in pixels of the input, borders and padding left out of account.

    `step` lies between the fields of neighbouring places; below 1 after upsampling. `whole` says that all pixels count.
    """

    size: Fraction = Fraction(1)
    step: Fraction = Fraction(1)
    whole: bool = False

    def through_window(self, kernel: int, stride: int, dilation: int = 1) -> Side:
        """Each place of a window but one adds a step: N windows of F one after another see N F - N + 1 pixels."""
        return self._widened(Fraction((kernel - 1) * dilation), Fraction(stride))

    def through_transposed_window(self, kernel: int, stride: int, dilation: int) -> Side:
        """Of a transposed convolution: a place depends on inputs that lie a multiple of the stride apart."""
        reach = max(place * dilation for place in range(kernel) if place * dilation % stride == 0)
        return self._widened(Fraction(reach, stride), Fraction(1, stride))

    def resized(self, before: int, after: int, neighbours: int = 0) -> Side:
        """From `before` to `after` places, each of which depends on a place and so many more."""
        return self._widened(Fraction(neighbours), Fraction(before, after))

    def pooled_to(self, before: int, after: int) -> Side:
        """Through adaptive pooling, whose windows differ by a place: the largest counts."""
        largest = max(-(-(n + 1) * before // after) - n * before // after for n in range(after))
        return self._widened(Fraction(largest - 1), Fraction(before, after))

    def seeing_all(self, pixels: int) -> Side:
        """The whole side, of so many pixels."""
        return replace(self, size=max(self.size, Fraction(pixels)), whole=True)

    def _widened(self, steps: Fraction, stride: Fraction) -> Side:
        size = self.size if self.whole else self.size + steps * self.step
        return replace(self, size=size, step=self.step * stride)


@dataclass(frozen=True)
class Field:
    """A receptive field by its two sides, in a batch of so many samples of `pixels` (height, width)."""

    batch: int
    pixels: tuple[int, int]
    sides: tuple[Side, Side] = (Side(), Side())

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in whole pixels."""
        return math.ceil(self.sides[0].size), math.ceil(self.sides[1].size)

    def each(self, change: Callable[..., Side], *values: Sequence[int]) -> Field:
        """Change both sides; each of `values` has one number for the height and one for the width."""
        height, width = (change(side, *of) for side, *of in zip(self.sides, *values, strict=True))
        return replace(self, sides=(height, width))

    def whole(self) -> Field:
        """All of the input."""
        return self.each(Side.seeing_all, self.pixels)

    def joined(self, other: Field) -> Field:
        """Of two maps that an operation takes together, as a block and its shortcut, or branches side by side."""
        height, width = (
            Side(max(a.size, b.size), max(a.step, b.step), a.whole or b.whole)
            for a, b in zip(self.sides, other.sides, strict=True)
        )
        return replace(self, sides=(height, width))


def field_after(operation: str, args: Arguments, output: Tensor, inputs: Sequence[Field | None]) -> Field | None:
    """What a place of `output` sees, where `inputs` are the fields of what the operation takes.

    None is a field that shapes do not tell, for example after products over tokens.
    """
    known = [field for field in inputs if field is not None]
    if not known or len(known) < len(inputs):
        return None
    field = known[0]
    for other in known[1:]:
        field = field.joined(other)
    through = _THROUGH.get(operation)
    return through(field, args, output) if through else field


def pair(value: Any) -> tuple[int, int]:
    """Height and width, from two numbers or one for both."""
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values[0], values[-1]


def window(args: Arguments) -> tuple[tuple[int, int], tuple[int, int]]:
    """Kernel and stride of a pooling; without a stride its windows touch."""
    return pair(args[1]), pair(args[2] if len(args) > 2 and args[2] else args[1])


def means_all_places(args: Arguments) -> bool:
    """Whether a mean, or the like, takes all places of maps [n, channels, height, width] together."""
    axes = args[1] if len(args) > 1 else None
    return args[0].dim() == 4 and axes is not None and {axis % 4 for axis in axes} == {2, 3}


def _convolution(field: Field, args: Arguments, _: Tensor) -> Field | None:
    weight, stride, dilation, transposed = args[1], args[3], args[5], args[6]
    if weight.dim() != 4:
        return None
    return field.each(
        Side.through_transposed_window if transposed else Side.through_window, weight.shape[2:], stride, dilation
    )


def _pooling(field: Field, args: Arguments, _: Tensor) -> Field:
    kernel, stride = window(args)
    return field.each(Side.through_window, kernel, stride)


def _largest(field: Field, args: Arguments, _: Tensor) -> Field:
    kernel, stride = window(args)
    return field.each(Side.through_window, kernel, stride, pair(args[4] if len(args) > 4 else 1))


def _adaptive(field: Field, args: Arguments, output: Tensor) -> Field:
    whole = field.whole()
    sides = [
        full if after == 1 else side.pooled_to(before, after)
        for side, full, before, after in zip(
            field.sides, whole.sides, args[0].shape[-2:], output.shape[-2:], strict=True
        )
    ]
    return replace(field, sides=(sides[0], sides[1]))


def _reduced(field: Field, args: Arguments, _: Tensor) -> Field | None:
    axes = args[1] if len(args) > 1 and args[1] else range(args[0].dim())
    if args[0].dim() != 4:
        return None
    gone = {axis % 4 for axis in axes}
    height, width = (
        side.seeing_all(pixels) if axis in gone else side
        for axis, side, pixels in zip((2, 3), field.sides, field.pixels, strict=True)
    )
    return replace(field, sides=(height, width))


def _product(field: Field, _: Arguments, output: Tensor) -> Field | None:
    """Of one row a sample; of more rows, nobody knows whether they are places."""
    return field.whole() if output.dim() == 2 and len(output) == field.batch else None


def _slice(field: Field, args: Arguments, _: Tensor) -> Field:
    axis, step = args[1] % args[0].dim() if len(args) > 1 else 0, args[4] if len(args) > 4 else 1
    if args[0].dim() != 4 or axis < 2:
        return field
    return field.each(Side.through_window, (1, 1), (step, 1) if axis == 2 else (1, step))


def _resized(neighbours: int) -> Callable[[Field, Arguments, Tensor], Field]:
    return lambda field, args, output: field.each(
        Side.resized, args[0].shape[2:], output.shape[2:], (neighbours, neighbours)
    )


def _shuffled(field: Field, args: Arguments, output: Tensor) -> Field:
    """Channels become places."""
    return field.each(Side.resized, args[0].shape[-2:], output.shape[-2:])


def _unshuffled(field: Field, args: Arguments, _: Tensor) -> Field:
    return field.each(Side.through_window, pair(args[1]), pair(args[1]))


_THROUGH: dict[str, Callable[[Field, Arguments, Tensor], Field | None]] = {
    "convolution": _convolution,
    "avg_pool2d": _pooling,
    "max_pool2d_with_indices": _largest,
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_max_pool2d"), _adaptive),
    **dict.fromkeys(("mean", "sum", "amax", "amin"), _reduced),
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm"), _product),
    "slice": _slice,
    "upsample_nearest2d": _resized(0),
    "upsample_bilinear2d": _resized(1),
    "pixel_shuffle": _shuffled,
    "pixel_unshuffle": _unshuffled,
}
