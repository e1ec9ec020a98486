"""Which algorithm suits which layer: a model of what each layer of a step costs on a grid; without torch and MPI.

The time of a layer is that of what the busiest rank computes, plus its collectives. Where nothing was measured, the
first is the multiply-adds at the machine's rate. Collectives take alpha log2(p) + beta b among p ranks, for latency
alpha, seconds a byte beta, and the bytes b that a rank moves; an all-reduce has twice the latency (Thakur, Rabenseifner
and Gropp, Optimization of collective communication operations in MPICH, 2005). Nothing is taken to overlap, and layers
between convolutions cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.channel_parallel.algorithms import (
    ALGORITHMS,
    Algorithm,
    ConvolutionShape,
    Transfer,
    Ways,
    bytes_moved,
    divisors,
    ways_of,
)
from engine.channel_parallel.machine import Collective, Machine, Part

Way = Literal["sample parallelism", "stationary-x", "stationary-y", "stationary-w"]
"""How a layer is shared by all workers: by samples alone, or by channels too."""
WAYS: tuple[Way, ...] = ("sample parallelism", *ALGORITHMS)


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
        return self.computing_s + self.moving_s

    @property
    def computing_s(self) -> float:
        """What of the step is computing."""
        return sum(layer.estimate.computing_s for layer in self.layers)

    @property
    def moving_s(self) -> float:
        """What of the step is moving bytes."""
        return sum(layer.estimate.moving_s for layer in self.layers)

    @property
    def bytes_moved(self) -> int:
        """By all ranks in a step."""
        return sum(layer.estimate.bytes_moved for layer in self.layers)

    @property
    def algorithms(self) -> dict[str, Algorithm]:
        """By layer, as `split_network` takes them."""
        return {layer.name: layer.algorithm for layer in self.layers}

    @property
    def ways(self) -> dict[str, Way]:
        """By layer; where channels are not cut, every algorithm is sample parallelism."""
        return {layer.name: layer.algorithm if self.channels > 1 else WAYS[0] for layer in self.layers}


@dataclass(frozen=True)
class LayerWays:
    """What each way of sharing a layer costs, for those that the workers can take."""

    name: str
    estimates: Mapping[Way, Estimate]

    @property
    def fastest(self) -> Way:
        """Of equals the first one."""
        return min(self.estimates, key=lambda way: self.estimates[way].seconds)


def plans_of(layers: Mapping[str, ConvolutionShape], workers: int, machine: Machine) -> list[NetworkPlan]:
    """A plan for each grid of so many ranks, the fastest first.

    `layers` are those of the whole batch in the order of the forward pass, the first of which passes no gradient on.
    Leaves out grids with more rows than the batch has samples, unless there is no other grid.
    """
    plans = [plan_of(layers, *grid, machine) for grid in _grids(layers, workers)]
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


def ways_of_layers(plans: Sequence[NetworkPlan]) -> list[LayerWays]:
    """Each layer by itself, from the plans of `plans_of`: sample parallelism among all workers, and the algorithms.

    The algorithms are those of the fastest grid that cuts channels.
    """
    by_samples = next((plan for plan in plans if plan.channels == 1), None)
    by_channels = next((plan for plan in plans if plan.channels > 1), None)
    found = []
    for number, layer in enumerate(plans[0].layers):
        estimates: dict[Way, Estimate] = {}
        if by_samples:
            estimates[WAYS[0]] = by_samples.layers[number].estimate
        if by_channels:
            estimates.update({way: by_channels.layers[number].estimates[way] for way in ALGORITHMS})
        found.append(LayerWays(layer.name, estimates))
    return found


def parts_of(layers: Mapping[str, ConvolutionShape], workers: int) -> list[Part]:
    """What ranks compute in the plans of `plans_of`, each part once; those of one shape follow each other."""
    found: dict[Part, None] = {}
    for number, shape in enumerate(layers.values()):
        for samples, channels in _grids(layers, workers):
            ways = (ways_of(algorithm, channels) for algorithm in ALGORITHMS)
            found |= dict.fromkeys(Part(shape, one, samples, number > 0) for one in ways)
    return list(found)


def estimate_of(
    shape: ConvolutionShape, ways: Ways, samples: int, machine: Machine, *, needs_dx: bool = True
) -> Estimate:
    """What a layer costs, cut in these ways, its batch in `samples`, in numbers of 4 bytes."""
    part = Part(shape, ways, samples, needs_dx)
    moved = bytes_moved(shape, ways, samples, needs_dx=needs_dx)
    ranks = samples * ways.channels * ways.filters
    collectives: dict[Transfer, tuple[Collective, int]] = {
        "gather x": ("gather", ways.filters),
        "scatter y": ("scatter", ways.channels),
        "gather dy": ("gather", ways.channels),
        "sum dw": ("sum", samples),
    }
    if needs_dx:
        collectives["scatter dx"] = ("scatter", ways.filters)
    moving = (machine.moving_s(one, moved[what] / ranks, among) for what, (one, among) in collectives.items())
    return Estimate(part.multiply_adds, sum(moved.values()), machine.computing_s(part), sum(moving))


def _grids(layers: Mapping[str, ConvolutionShape], workers: int) -> list[tuple[int, int]]:
    samples = min((shape.samples for shape in layers.values()), default=1)
    return [(rows, workers // rows) for rows in divisors(workers) if rows <= samples] or [(1, workers)]
