"""What a machine needs for the parts of a step, by a few numbers or as measured; without torch and MPI."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from engine.channel_parallel.algorithms import ConvolutionShape, Ways

Collective = Literal["gather", "scatter", "sum"]
COLLECTIVES: tuple[Collective, ...] = ("gather", "scatter", "sum")
"""All-gather, reduce-scatter and all-reduce."""


@dataclass(frozen=True)
class Part:
    """What a rank computes of a layer in a step: the batch is cut in `samples`, the weights in `ways`.

    Without `needs_dx`, as in a network's first layer, there is no gradient for x.
    """

    shape: ConvolutionShape
    ways: Ways
    samples: int = 1
    needs_dx: bool = True

    @property
    def multiply_adds(self) -> int:
        """Of the rank that has most: of the forward pass, the weights' gradient and x's."""
        shape, passes = self.shape, 3 if self.needs_dx else 2
        maps = _share(shape.samples, self.samples) * _share(shape.channels, self.ways.channels)
        filters = _largest_column(shape.filters, self.ways)
        return passes * maps * filters * math.prod(shape.window) * math.prod(shape.output_size)


@dataclass(frozen=True)
class Link:
    """A collective as measured among `ranks` ranks: `points` are bytes that a rank moves, rising, and seconds."""

    ranks: int
    points: tuple[tuple[float, float], ...]

    @property
    def latency_s(self) -> float:
        """The time of the smallest message, for each doubling of the ranks."""
        return self.points[0][1] / math.log2(self.ranks)

    @property
    def bytes_per_s(self) -> float:
        """Of the largest message."""
        count, seconds = self.points[-1]
        return count / seconds

    def seconds(self, count: float, ranks: int) -> float:
        """For so many bytes a rank among so many ranks, on straight lines through the points."""
        more = (math.log2(ranks) - math.log2(self.ranks)) * self.latency_s
        if count <= self.points[0][0]:
            return self.points[0][1] + more
        lines = list(pairwise(self.points))
        (x, y), (x2, y2) = next((line for line in lines if count <= line[1][0]), lines[-1])
        return y + (count - x) * (y2 - y) / (x2 - x) + more


@dataclass(frozen=True)
class Machine:
    """What a rank can do: seconds until a message arrives, bytes it sends a second, multiply-adds a second.

    Measured times of parts of layers and of collectives take precedence over these numbers.
    """

    latency_s: float
    bytes_per_s: float
    multiply_adds_per_s: float
    parts: Mapping[Part, float] = field(default_factory=dict, compare=False)
    links: Mapping[Collective, Link] = field(default_factory=dict, compare=False)

    def computing_s(self, part: Part) -> float:
        """For a rank's part of a layer."""
        return self.parts[part] if part in self.parts else part.multiply_adds / self.multiply_adds_per_s

    def moving_s(self, collective: Collective, count: float, ranks: int) -> float:
        """For a collective among `ranks` ranks that each move `count` bytes; nothing for one rank alone."""
        if ranks == 1:
            return 0.0
        if collective in self.links:
            return self.links[collective].seconds(count, ranks)
        passes = 2 if collective == "sum" else 1
        return passes * math.log2(ranks) * self.latency_s + count / self.bytes_per_s


CORE = Machine(latency_s=20e-6, bytes_per_s=3e9, multiply_adds_per_s=30e9)
"""What is assumed of a rank with a core of a server, and MPI over shared memory."""
GPU = Machine(latency_s=20e-6, bytes_per_s=150e9, multiply_adds_per_s=20e12)
"""What is assumed of a rank with a current GPU in float32, and NCCL over NVLink."""


def _share(count: int, ways: int) -> int:
    """Of the rank that has most."""
    return -(-count // ways)


@functools.cache
def _largest_column(filters: int, ways: Ways) -> int:
    """The filters of the column of `Placement` that has most: rank r of R ends at filter filters * (r + 1) // R."""
    ranks = ways.channels * ways.filters
    sizes = [filters * (rank + 1) // ranks - filters * rank // ranks for rank in range(ranks)]
    return max(sum(sizes[column :: ways.filters]) for column in range(ways.filters))
