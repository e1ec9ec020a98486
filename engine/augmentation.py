"""Pictures flipped, shifted and cut, anew each time they are seen, on whatever device they are.

What happens to a picture is a function of the seed and of its place in the run's stream of images alone: every rank
count and every device draws the same.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.config import AugmentationConfig


class Augmentation:
    """Flips, shifts and Cutout, as `cuda_ext.reference.augmented` says.

    0 is what comes in from outside a picture, and Cutout's square: in normalised pictures the mean colour. `fused`
    asks for the compiled operator, which gives the same in one pass.
    """

    def __init__(self, config: AugmentationConfig, seed: int, device: torch.device, *, fused: bool = False) -> None:
        self._config, self._fused = config, fused
        self._start = torch.zeros((), dtype=torch.int64, device=device)  # so that it may change between captured steps
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Draw by this seed from now on."""
        self._start.fill_(_signed(seed * 0xD1342543DE82EF95 + 1))

    def __call__(self, pictures: Tensor, positions: Tensor) -> Tensor:
        """New pictures [n, channels, height, width], laid out as these are, each by its position [n] in the stream."""
        if self._fused:
            from cuda_ext import augmented
        else:
            from cuda_ext.reference import augmented
        config = self._config
        return augmented(pictures, positions, self._start, config.flip, config.shift, config.cutout)


def _signed(value: int) -> int:
    """`value` modulo 2^64 as int64 holds it."""
    value %= 1 << 64
    return value - (1 << 64) if value >= 1 << 63 else value
