"""A rank of the study: times one convolution by samples and by channels; the first prints rows as JSON.

A row is of one way of dividing a layer: {"layer", "scaling", "samples", "workers", "way", "forward", "backward"}, the
last two being seconds of each round, of the slowest rank. No speed is told before the layer's output and gradients are
those of torch's own convolution.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch
from mpi4py import MPI
from torch import Tensor, nn

from engine.channel_parallel import ChannelParallelConv2d, ProcessGrid
from engine.channel_parallel.choice import WAYS, Way
from engine.channel_parallel.split_layer import whole_tensors
from engine.cores import bind
from engine.data.shards import share
from engine.device import choose_device, describe
from engine.errors import ClearError
from experiments.channel_parallel.layers import KINDS, LAYERS, QUICK, Layer

_CLOSE = 1e-3  # of the largest number, in float32
BY_SAMPLES: Way = WAYS[0]


class WrongLayerError(ClearError):
    """A divided layer does not compute what the whole one does."""

    kind = "study"


class Divided:
    """A layer of `samples` samples divided in one way among the ranks of a grid."""

    def __init__(self, grid: ProcessGrid, way: Way, layer: Layer, samples: int) -> None:
        torch.manual_seed(0)  # the same numbers on every rank
        whole = nn.Conv2d(layer.channels, layer.channels, layer.window, padding=layer.window // 2).to(grid.device)
        maps = (samples, layer.channels, layer.pixels, layer.pixels)
        x, dy = (torch.randn(maps, device=grid.device) for _ in range(2))
        start, stop = share(0, samples, grid.sample, grid.samples)
        own = grid.parts(layer.channels).range(grid.channel)
        self._grid, self._name = grid, f"{layer.name}, {way}, {samples} samples"
        self._whole, self._x, self._dy = whole, x, dy
        self._rows, self._channels = slice(start, stop), own
        self._own_x = x[start:stop, own].contiguous().requires_grad_()
        self._own_dy = dy[start:stop, own].contiguous()
        # On one column every algorithm divides samples alone.
        self._layer = ChannelParallelConv2d(whole, grid, "stationary-x" if way == "sample parallelism" else way)
        self._wanted = [self._own_x, *self._layer.parameters()]

    def run(self) -> tuple[float, float]:
        """Seconds of a forward and of a backward pass on the slowest rank. Collective."""
        self._meet()
        begun = time.perf_counter()
        y = self._layer(self._own_x)
        self._settle()
        forward = time.perf_counter() - begun
        self._meet()
        begun = time.perf_counter()
        torch.autograd.grad(y, self._wanted, self._own_dy)
        self._settle()
        backward = time.perf_counter() - begun
        slowest = self._grid.comm.allreduce
        return slowest(forward, MPI.MAX), slowest(backward, MPI.MAX)

    def check(self) -> None:
        """Raises WrongLayerError on every rank where output or gradients are wrong on any. Collective."""
        x = self._x.clone().requires_grad_()
        y = self._whole(x)
        parameters = dict(self._whole.named_parameters())
        dx, *expected = torch.autograd.grad(y, [x, *parameters.values()], self._dy)
        own_y = self._layer(self._own_x)
        torch.autograd.backward(own_y, self._own_dy)
        assert self._own_x.grad is not None
        gradients = whole_tensors(self._layer, self._grid, lambda own: own.grad)
        right = all(
            (
                _close(own_y, y[self._rows, self._channels]),
                _close(self._own_x.grad, dx[self._rows, self._channels]),
                *(_close(gradients[name], one) for name, one in zip(parameters, expected, strict=True)),
            )
        )
        if not all(self._grid.comm.allgather(right)):
            raise WrongLayerError(f"{self._name}: is not what the whole layer computes", "report it")

    def _meet(self) -> None:
        self._settle()
        self._grid.comm.Barrier()

    def _settle(self) -> None:
        if self._grid.device.type == "cuda":
            torch.cuda.synchronize(self._grid.device)


def _close(own: Tensor, expected: Tensor) -> bool:
    if not own.numel():  # a rank without samples
        return True
    own, expected = own.detach().cpu(), expected.detach().cpu()
    return float((own - expected).abs().max()) <= _CLOSE * float(expected.abs().max())


def measure(wanted: str, rounds: int, *, quick: bool) -> Iterator[dict[str, Any]]:
    """A row for each layer, kind of scaling and way; ways take turns, each round beginning with another one.

    Raises:
        WrongLayerError: see `Divided.check`.
    """
    comm = MPI.COMM_WORLD
    device = choose_device(wanted, comm)
    if device.type == "cpu":
        bind(comm.rank, comm.size)
        torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # checked in float32
    rows, columns = ProcessGrid(comm, comm.size, device), ProcessGrid(comm, 1, device)
    for layer in QUICK if quick else LAYERS:
        for kind in KINDS:
            samples = layer.samples(kind, comm.size)
            ways = [way for way in WAYS if way != BY_SAMPLES or samples >= comm.size]
            if comm.size == 1:
                ways = [BY_SAMPLES]
            divided = {way: Divided(rows if way == BY_SAMPLES else columns, way, layer, samples) for way in ways}
            for one in divided.values():
                one.check()
            for way, taken in _in_turns(divided, rounds).items():
                forward, backward = zip(*taken, strict=True)
                yield {
                    "layer": layer.name,
                    "scaling": kind,
                    "samples": samples,
                    "workers": comm.size,
                    "way": way,
                    "forward": [round(seconds, 9) for seconds in forward],
                    "backward": [round(seconds, 9) for seconds in backward],
                    "device": describe(device)["device_name"],
                }


def _in_turns(divided: dict[Way, Divided], rounds: int) -> dict[Way, list[tuple[float, float]]]:
    found: dict[Way, list[tuple[float, float]]] = {way: [] for way in divided}
    names = list(divided)
    for number in range(-1, rounds):
        turned = number % len(names)
        for way in (*names[turned:], *names[:turned]):
            divided[way].run()  # others have had the caches meanwhile
            seconds = divided[way].run()
            if number >= 0:  # the first round warms up
                found[way].append(seconds)
    return found


def main() -> None:
    """Measure, and let rank 0 tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--quick", action="store_true", help="small layers")
    given = parser.parse_args()
    found = list(measure(given.device, given.rounds, quick=given.quick))
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
