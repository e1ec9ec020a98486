"""Which algorithm suits which layer: a model of what each layer of a step costs on a grid; without torch and MPI.

The time of a layer is that of the multiply-adds of the busiest rank, at the machine's rate, plus its collectives. Those
take alpha log2(p) + beta b among p ranks, for latency alpha, seconds a byte beta, and the bytes b that a rank moves; an
all-reduce has twice the latency (Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005). Nothing is taken to overlap, and layers between convolutions cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.channel_parallel.algorithms import (
    ALGORITHMS,
    Algorithm,
    ConvolutionShape,
    Ways,
    bytes_moved,
    divisors,
    ways_of,
)


@dataclass(frozen=True)
class Machine:
    """What a rank can do: seconds until a message arrives, bytes it sends a second, multiply-adds a second."""

    latency_s: float
    bytes_per_s: float
    multiply_adds_per_s: float


@dataclass(frozen=True)
class Estimate:
    """A step of one layer: multiply-adds of the rank with most, bytes moved by all ranks, and both as seconds."""

    multiply_adds: int
    bytes_moved: int
    computing_s: float
    moving_s: float

    @property
    def seconds(self) -> float:
        """Of the layer in a step."""
        return self.computing_s + self.moving_s


@dataclass(frozen=True)
class LayerChoice:
    """The fastest algorithm for a layer by its name, and what each would cost."""

    name: str
    algorithm: Algorithm
    estimates: Mapping[Algorithm, Estimate]

    @property
    def estimate(self) -> Estimate:
        """Of the algorithm that is chosen."""
        return self.estimates[self.algorithm]


@dataclass(frozen=True)
class NetworkPlan:
    """A grid of `samples` x `channels` ranks, and an algorithm for each layer."""

    samples: int
    channels: int
    layers: tuple[LayerChoice, ...]

    @property
    def seconds(self) -> float:
        """Of a step, in the layers that were chosen for."""
        return sum(layer.estimate.seconds for layer in self.layers)

    @property
    def bytes_moved(self) -> int:
        """By all ranks in a step."""
        return sum(layer.estimate.bytes_moved for layer in self.layers)

    @property
    def algorithms(self) -> dict[str, Algorithm]:
        """By layer, as `split_network` takes them."""
        return {layer.name: layer.algorithm for layer in self.layers}


def plans_of(layers: Mapping[str, ConvolutionShape], workers: int, machine: Machine) -> list[NetworkPlan]:
    """A plan for each grid of so many ranks, the fastest first.

    `layers` are those of the whole batch in the order of the forward pass, the first of which passes no gradient on.
    Leaves out grids with more rows than the batch has samples, unless there is no other grid.
    """
    samples = min((shape.samples for shape in layers.values()), default=1)
    fitting = [rows for rows in divisors(workers) if rows <= samples] or [1]
    plans = [plan_of(layers, rows, workers // rows, machine) for rows in fitting]
    return sorted(plans, key=lambda plan: plan.seconds)


def plan_of(layers: Mapping[str, ConvolutionShape], samples: int, channels: int, machine: Machine) -> NetworkPlan:
    """The fastest algorithm for each layer on a grid of `samples` x `channels` ranks; of equals the first one."""
    chosen = []
    for number, (name, shape) in enumerate(layers.items()):
        estimates: dict[Algorithm, Estimate] = {
            algorithm: estimate_of(shape, ways_of(algorithm, channels), samples, machine, needs_dx=number > 0)
            for algorithm in ALGORITHMS
        }
        best = min(ALGORITHMS, key=lambda one: estimates[one].seconds)
        chosen.append(LayerChoice(name, best, estimates))
    return NetworkPlan(samples, channels, tuple(chosen))


def estimate_of(
    shape: ConvolutionShape, ways: Ways, samples: int, machine: Machine, *, needs_dx: bool = True
) -> Estimate:
    """What a layer costs, cut in these ways, its batch in `samples`, in numbers of 4 bytes."""
    passes = 3 if needs_dx else 2
    multiply_adds = passes * _share(shape.samples, samples) * _share(shape.channels, ways.channels)
    multiply_adds *= _largest_column(shape.filters, ways) * math.prod(shape.window) * math.prod(shape.output_size)
    moved = bytes_moved(shape, ways, samples, needs_dx=needs_dx)
    total = sum(moved.values())
    ranks = samples * ways.channels * ways.filters
    gathers_x, scatters_x = math.log2(ways.filters), math.log2(ways.filters) if needs_dx else 0.0
    latencies = gathers_x + scatters_x + 2 * math.log2(ways.channels) + 2 * math.log2(samples)
    moving = latencies * machine.latency_s + total / ranks / machine.bytes_per_s
    return Estimate(multiply_adds, total, multiply_adds / machine.multiply_adds_per_s, moving)


def _share(count: int, ways: int) -> int:
    """Of the rank that has most."""
    return -(-count // ways)


def _largest_column(filters: int, ways: Ways) -> int:
    """The filters of the column of `Placement` that has most: rank r of R ends at filter filters * (r + 1) // R."""
    ranks = ways.channels * ways.filters
    sizes = [filters * (rank + 1) // ranks - filters * rank // ranks for rank in range(ranks)]
    return max(sum(sizes[column :: ways.filters]) for column in range(ways.filters))
