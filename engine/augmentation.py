"""Pictures flipped, shifted and cut, anew each time they are seen, on whatever device they are.

What happens to a picture is a function of the seed and of its place in the run's stream of images alone: every rank
count and every device draws the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.config import AugmentationConfig

_BITS = 24  # of a random number that are used
# Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 (SplitMix64), as signed numbers.
_GAMMA = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
_LAST_SHIFT = 31
_DRAWS = 8  # numbers that belong to a place, of which 5 are used


class Augmentation:
    """Flips and shifts (He et al., Deep residual learning, 2016, section 4.2) and Cutout (DeVries, Taylor, 2017).

    A shift moves a picture by a whole number of pixels in [-shift, shift] in each direction; what comes in is 0, as is
    Cutout's square: in normalised pictures the mean colour. The square's centre is anywhere in the picture, so that the
    square may reach over its edge.
    """

    def __init__(self, config: AugmentationConfig, seed: int, device: torch.device) -> None:
        self._config, self._device = config, device
        self._start = torch.zeros((), dtype=torch.int64, device=device)  # so that it may change between captured steps
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Draw by this seed from now on."""
        self._start.fill_(_signed(seed * 0xD1342543DE82EF95 + 1))

    def __call__(self, pictures: Tensor, positions: Tensor) -> Tensor:
        """New pictures [n, channels, height, width], laid out as these are, each by its position [n] in the stream."""
        height, width = pictures.shape[2:]
        rows, kept_rows = self._moved(positions, 0, height)
        columns, kept_columns = self._moved(positions, 1, width)
        if self._config.flip:
            mirrored = self._draw(positions, 2, 2).bool()[:, None]
            columns = torch.where(mirrored, width - 1 - columns, columns)
        kept = kept_rows[:, :, None] & kept_columns[:, None, :]
        if self._config.cutout:
            kept = kept & ~self._cut(positions, height, width)
        return _gathered(pictures, rows, columns) * kept[:, None]

    def _moved(self, positions: Tensor, draw: int, pixels: int) -> tuple[Tensor, Tensor]:
        """For each pixel [n, pixels] of a side the one that it shows, and whether there is one."""
        shift = self._config.shift
        source = torch.arange(pixels, device=self._device).expand(len(positions), pixels)
        if shift:
            source = source + (self._draw(positions, draw, 2 * shift + 1) - shift)[:, None]
        return source.clamp(0, pixels - 1), (source >= 0) & (source < pixels)

    def _cut(self, positions: Tensor, height: int, width: int) -> Tensor:
        side = self._config.cutout
        inside = []
        for draw, pixels in ((3, height), (4, width)):
            first = self._draw(positions, draw, pixels)[:, None] - side // 2
            places = torch.arange(pixels, device=self._device)
            inside.append((places >= first) & (places < first + side))
        return inside[0][:, :, None] & inside[1][:, None, :]

    def _draw(self, positions: Tensor, draw: int, choices: int) -> Tensor:
        """Numbers [n] from 0 to `choices` - 1."""
        return (random_bits(positions * _DRAWS + draw, self._start) * choices) >> _BITS


def random_bits(counters: Tensor, start: int | Tensor) -> Tensor:
    """24 random bits for each int64 counter [n]: SplitMix64's number of that index, from the state `start`."""
    mixed = counters * _GAMMA + start  # int64 wraps around, as the generator's arithmetic does
    for shift, factor in _MIX:
        mixed = (mixed ^ _logical_shift(mixed, shift)) * factor
    return _logical_shift(mixed ^ _logical_shift(mixed, _LAST_SHIFT), 64 - _BITS)


def _logical_shift(values: Tensor, bits: int) -> Tensor:
    """Unsigned `values` >> `bits`, of int64."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """`value` modulo 2^64 as int64 holds it."""
    value %= 1 << 64
    return value - (1 << 64) if value >= 1 << 63 else value


def _gathered(pictures: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels of `pictures` [n, c, h, w] at `rows` [n, h] and `columns` [n, w]."""
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
