"""The layers that are measured, and on how many samples."""

from __future__ import annotations

from dataclasses import dataclass

STRONG, WEAK = "strong", "weak"
KINDS = (STRONG, WEAK)


@dataclass(frozen=True)
class Layer:
    """A convolution of `window` x `window` from `channels` to as many channels, on maps of `pixels` x `pixels`.

    Strong scaling divides `strong` samples among all ranks, weak scaling has `weak` for each rank.
    """

    name: str
    channels: int
    pixels: int
    window: int = 3
    strong: int = 4
    weak: int = 1

    def samples(self, kind: str, ranks: int) -> int:
        """Samples of all ranks."""
        return self.strong if kind == STRONG else self.weak * ranks

    @property
    def words(self) -> str:
        """As people read it."""
        shape = f"{self.channels} to {self.channels} channels, {self.window}x{self.window}"
        return f"{self.name}: {shape}, {self.pixels}x{self.pixels} pixels"


# Those of the third and fifth stage of a residual network for pictures of 224 pixels.
LAYERS = (Layer("conv3", 128, 28), Layer("conv5", 512, 7))
QUICK = (Layer("conv3", 8, 8), Layer("conv5", 16, 3))
