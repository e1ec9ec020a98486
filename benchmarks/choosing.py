"""A rank of the benchmark of the choice of algorithms: the first prints seconds of layers as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time

import torch
from mpi4py import MPI
from torch import Tensor, nn

from engine.channel_parallel import ChannelParallelConv2d, ConvolutionShape, ProcessGrid
from engine.channel_parallel.choice import WAYS, Way
from engine.channel_parallel.shapes import shapes_of
from engine.cores import bind
from engine.data.shards import share
from engine.models import make_network


def measure(model: str, pixels: int, batch: int, every: int, rounds: int) -> dict[str, dict[Way, list[float]]]:
    """Seconds of a step of every so many-th layer, forward and backward on the slowest rank, by layer and way.

    Layers and ways take turns, so that what else the machine does meets all of them.
    """
    comm = MPI.COMM_WORLD
    bind(comm.rank, comm.size)
    torch.set_num_threads(1)
    with torch.device("meta"):
        network = make_network(model, (3, pixels, pixels), 1000)
    shapes = shapes_of(network, (3, pixels, pixels), batch)
    rows, columns = ProcessGrid(comm, comm.size), ProcessGrid(comm)
    steps: dict[str, dict[Way, _Step]] = {}
    for number, (name, shape) in enumerate(shapes.items()):
        if number % every or shape.is_product:
            continue
        grids = {way: rows if way == WAYS[0] else columns for way in WAYS}
        steps[name] = {way: _Step(grid, way, shape, number > 0) for way, grid in grids.items()}
    found: dict[str, dict[Way, list[float]]] = {name: {way: [] for way in WAYS} for name in steps}
    for number in range(-1, rounds):
        for name, ways in steps.items():
            for way, step in ways.items():
                _slowest(comm, step)  # other layers have had the caches meanwhile
                seconds = _slowest(comm, step)
                if number >= 0:  # the first round warms up
                    found[name][way].append(seconds)
    return found


class _Step:
    """A split layer with what it takes."""

    def __init__(self, grid: ProcessGrid, way: Way, shape: ConvolutionShape, needs_dx: bool) -> None:
        whole = nn.Conv2d(
            shape.channels,
            shape.filters,
            shape.window,
            shape.stride,
            shape.padding,
            shape.dilation,
            bias=shape.has_bias,
        )
        self._layer = ChannelParallelConv2d(whole, grid, "stationary-x" if way == "sample parallelism" else way)
        channels, filters = (grid.parts(count).sizes[grid.channel] for count in (shape.channels, shape.filters))
        start, stop = share(0, shape.samples, grid.sample, grid.samples)
        self._x: Tensor = torch.randn(stop - start, channels, *shape.input_size, requires_grad=needs_dx)
        self._dy = torch.randn(stop - start, filters, *shape.output_size)
        self._wanted = [*self._layer.parameters(), *([self._x] if needs_dx else [])]

    def run(self) -> None:
        """Forward and backward."""
        torch.autograd.grad(self._layer(self._x), self._wanted, self._dy)


def _slowest(comm: MPI.Comm, step: _Step) -> float:
    comm.Barrier()
    begun = time.perf_counter()
    step.run()
    took: float = comm.allreduce(time.perf_counter() - begun, MPI.MAX)
    return took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    for name in ("pixels", "batch", "every", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    found = measure(given.model, given.pixels, given.batch, given.every, given.rounds)
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
