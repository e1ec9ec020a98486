"""The three algorithms, how they cut weights, and the bytes that each moves; without torch and MPI."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

from engine.errors import ClearError

Algorithm = Literal["stationary-x", "stationary-y", "stationary-w"]
ALGORITHMS: tuple[Algorithm, ...] = ("stationary-x", "stationary-y", "stationary-w")
Transfer = Literal["gather x", "scatter y", "gather dy", "scatter dx", "sum dw", "layers"]
"""What bytes are moved for: one of a convolution's five transfers, or the layers between convolutions."""


class GridError(ClearError):
    """Ranks cannot be put in the asked-for grid, or tensors cannot be sent along it."""

    kind = "grid"


@dataclass(frozen=True)
class Ways:
    """Into how many ways the weights' channels and filters are cut. Their product is the ranks that share samples."""

    channels: int
    filters: int


@functools.cache
def ways_of(algorithm: Algorithm, ranks: int, filters: int | None = None) -> Ways:
    """How an algorithm cuts weights among `ranks` ranks that share samples.

    stationary-x cuts channels only, stationary-y filters only, stationary-w both. For the last, `filters` says how
    often the filters are cut; left out, the two are as equal as can be, and channels have the larger.

    Raises:
        GridError: an unknown algorithm, or `filters` that does not divide `ranks` or is for another algorithm.
    """
    if algorithm not in ALGORITHMS:
        raise GridError(f"algorithm: {algorithm!r} is unknown", f"use one of {', '.join(ALGORITHMS)}")
    if algorithm != "stationary-w":
        if filters is not None:
            raise GridError(f"filters: is {filters}, and only stationary-w takes it", f"leave it out with {algorithm}")
        return Ways(ranks, 1) if algorithm == "stationary-x" else Ways(1, ranks)
    if filters is None:
        filters = max(number for number in divisors(ranks) if number <= math.isqrt(ranks))
    if filters not in divisors(ranks):
        raise GridError(
            f"filters: is {filters}, which does not divide the {ranks} ranks that share samples",
            f"use one of {', '.join(map(str, divisors(ranks)))}",
        )
    return Ways(ranks // filters, filters)


def divisors(number: int) -> list[int]:
    """All that divide a number, in rising order."""
    return [one for one in range(1, number + 1) if number % one == 0]


@dataclass(frozen=True)
class ConvolutionShape:
    """A convolution of a batch. Sizes are height and width in pixels; an input with other padding counts as padded.

    `padding` are the zeros above and below, and left and right. A fully connected layer, marked as `is_product`, is a
    convolution over one pixel.
    """

    samples: int
    channels: int
    filters: int
    window: tuple[int, int]
    input_size: tuple[int, int]
    output_size: tuple[int, int]
    has_bias: bool = False
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    is_product: bool = False

    @property
    def inputs(self) -> int:
        """The numbers of x."""
        return self.samples * self.channels * math.prod(self.input_size)

    @property
    def outputs(self) -> int:
        """The numbers of y."""
        return self.samples * self.filters * math.prod(self.output_size)

    @property
    def weights(self) -> int:
        """The numbers that are learned."""
        return self.filters * (self.channels * math.prod(self.window) + self.has_bias)


def bytes_moved(
    shape: ConvolutionShape, ways: Ways, samples: int = 1, *, element_bytes: int = 4, needs_dx: bool = True
) -> dict[Transfer, int]:
    """The bytes that all ranks together move in a step, by transfer; `docs/channel_parallel.md` derives the formulas.

    `samples` is how often the grid cuts the batch, `element_bytes` the size of a number. Without `needs_dx`, as in a
    network's first layer, no gradient goes back to x.
    """
    x, y = (ways.filters - 1) * shape.inputs, (ways.channels - 1) * shape.outputs
    moved: dict[Transfer, int] = {
        "gather x": x,
        "scatter y": y,
        "gather dy": y,
        "scatter dx": x if needs_dx else 0,
        "sum dw": 2 * (samples - 1) * shape.weights,
    }
    return {transfer: numbers * element_bytes for transfer, numbers in moved.items()}
