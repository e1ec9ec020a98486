"""A rank of the benchmark of split convolutions: the first prints seconds as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import torch
from mpi4py import MPI
from torch import Tensor, nn

from engine.channel_parallel import ALGORITHMS, ChannelParallelConv2d, ProcessGrid

CHANNELS, FILTERS, WINDOW, PIXELS = 512, 512, 3, 7  # of VGG's and ResNets' last convolutions, named conv5
ALONE = "alone"
_NAP_S = 1e-3
Seconds = tuple[float, float]  # of a forward and of a backward pass, on the slowest rank
Pass = Callable[[], Seconds]


def measure(batch: int, steps: int, rounds: int) -> dict[str, list[Seconds]]:
    """Means of each round, by algorithm over all ranks, and of torch's own convolution on rank 0 as "alone"."""
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    torch.manual_seed(0)
    whole = nn.Conv2d(CHANNELS, FILTERS, WINDOW, padding=WINDOW // 2)
    x = torch.randn(batch, CHANNELS, PIXELS, PIXELS)
    dy = torch.randn(batch, FILTERS, PIXELS, PIXELS)
    grid = ProcessGrid(comm)
    channels, filters = (grid.parts(number).range(grid.channel) for number in (CHANNELS, FILTERS))
    split = [ChannelParallelConv2d(whole, grid, algorithm) for algorithm in ALGORITHMS[:2]]
    passes = [_pass(layer, x[:, channels].contiguous(), dy[:, filters].contiguous()) for layer in split]
    alone = _pass(whole, x, dy)
    found: dict[str, list[Seconds]] = {ALONE: [], **{algorithm: [] for algorithm in ALGORITHMS[:2]}}
    for number in range(-1, rounds):
        took = [_while_others_sleep(comm, alone, steps), *(_together(comm, one, steps) for one in passes)]
        if number >= 0:  # the first warms up
            for name, seconds in zip(found, took, strict=True):
                found[name].append(seconds)
    return found


def _pass(layer: nn.Module, x: Tensor, dy: Tensor) -> Pass:
    x.requires_grad_()
    wanted = [x, *layer.parameters()]

    def run() -> Seconds:
        begun = time.perf_counter()
        y = layer(x)
        between = time.perf_counter()
        torch.autograd.grad(y, wanted, dy)
        return between - begun, time.perf_counter() - between

    return run


def _together(comm: MPI.Comm, run: Pass, steps: int) -> Seconds:
    taken = []
    for _ in range(steps):
        comm.Barrier()
        taken.append(run())
    forward, backward = (comm.allreduce(sum(times) / steps, MPI.MAX) for times in zip(*taken, strict=True))
    return forward, backward


def _while_others_sleep(comm: MPI.Comm, run: Pass, steps: int) -> Seconds:
    """What rank 0 takes by itself; the others leave it the machine, which MPI's own waiting would not."""
    mean = (0.0, 0.0)
    if comm.rank == 0:
        forward, backward = zip(*(run() for _ in range(steps)), strict=True)
        mean = (sum(forward) / steps, sum(backward) / steps)
    waiting = comm.Ibarrier()
    while not waiting.Test():
        time.sleep(_NAP_S)
    return mean


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name in ("batch", "steps", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    found = measure(given.batch, given.steps, given.rounds)
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
