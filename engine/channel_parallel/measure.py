"""A rank that measures its machine for the choice of algorithms.

`mpiexec -n N python -m engine.channel_parallel.measure` starts them. Rank 0 reads JSON on standard input,
`{"parts": [...], "collectives": true}`, and prints JSON: `{"parts": [seconds], "links": {collective: {"ranks": N,
"points": [[bytes, seconds], ...]}}}`.

A part is computed by the code that trains, forward and backward, on all ranks at once, as they share caches and memory.
Only its collectives do nothing. These are measured apart, between tensors of several sizes, as layers use them.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import torch
from mpi4py import MPI
from torch import Tensor

from engine.channel_parallel.algorithms import ConvolutionShape, Ways
from engine.channel_parallel.collectives import Group, MpiGroup, Pending, Traffic
from engine.channel_parallel.grid import ProcessGrid
from engine.channel_parallel.machine import COLLECTIVES, Collective, Link, Part
from engine.channel_parallel.stationary import Cut, Product, Windows
from engine.cores import bind
from engine.data.shards import share

_PASSES = 3
_ROUNDS, _ENOUGH_S = 5, 0.25  # of one layer in a pass, in all its parts; at least one round
_SENDINGS = 15
_SIZES = tuple(1 << power for power in (6, 12, 14, 16, 18, 20, 22, 24))  # bytes of what a collective is about


class SilentGroup(Group):
    """Ranks that send nothing: what they would receive is there already."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size, Traffic())
        self._received: dict[int, Tensor] = {}

    def _gather(self, own: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:  # noqa: ARG002
        count = len(into)
        if count not in self._received:
            self._received[count] = torch.randn(count)  # new memory may hold numbers that are slow to compute with
        return Pending(self._received[count])

    def _scatter(self, values: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:  # noqa: ARG002
        return Pending(into)

    def _sum(self, values: Tensor) -> Pending:
        return Pending(values)


class SilentGrid(ProcessGrid):
    """A grid whose ranks only compute."""

    def _group(self, partition: Sequence[Sequence[int]]) -> Group:
        ranks = partition[self._number(partition)]
        return SilentGroup(ranks.index(self.comm.rank), len(ranks))


@dataclass(frozen=True)
class _Step:
    """This rank's part of a layer with the tensors of a step."""

    cut: Cut
    x: Tensor
    weight: Tensor
    bias: Tensor | None
    dy: Tensor

    def run(self) -> None:
        """Forward and backward."""
        wanted = [one for one in (self.x, self.weight, self.bias) if one is not None and one.requires_grad]
        torch.autograd.grad(self.cut.apply(self.x, self.weight, self.bias), wanted, self.dy)


def measure_parts(comm: MPI.Comm, parts: Sequence[Part]) -> list[float]:
    """Seconds of each part on the slowest rank: of several passes the smallest median. Collective.

    Each part is for as many ranks as `comm` has. Those of one layer follow each other and are computed in turn, so that
    what slows the machine down for a moment meets all of them. What slows it down for longer misses a pass.
    """
    grids: dict[int, SilentGrid] = {}
    passes = [_pass(comm, grids, parts) for _ in range(_PASSES)]
    for grid in grids.values():
        grid.free()
    return [min(medians) for medians in zip(*passes, strict=True)]


def measure_links(comm: MPI.Comm, sizes: Sequence[int] = _SIZES) -> dict[Collective, Link]:
    """Each collective between tensors of these bytes, medians of the slowest rank's seconds. Collective."""
    own = comm.Dup()
    group = MpiGroup(own, Traffic())
    points = [[_points(own, group, one, size // 4) for one in COLLECTIVES] for size in sizes]
    own.Free()
    return {one: Link(comm.size, column) for one, column in zip(COLLECTIVES, zip(*points, strict=True), strict=True)}


def _pass(comm: MPI.Comm, grids: dict[int, SilentGrid], parts: Sequence[Part]) -> list[float]:
    """Medians of all parts, between tensors of their own."""
    found: list[float] = []
    for _, some in groupby(parts, lambda part: (part.shape, part.needs_dx)):
        steps = [_step(grids, comm, part) for part in some]
        taken = list(_rounds(comm, steps))[1:]  # the first warms up
        found += [statistics.median(times) for times in zip(*taken, strict=True)]
    return found


def _rounds(comm: MPI.Comm, steps: Sequence[_Step]) -> Iterator[list[float]]:
    begun = time.perf_counter()
    for number in range(_ROUNDS + 1):
        yield [_slowest(comm, step.run) for step in steps]
        took = time.perf_counter() - begun
        if comm.bcast(number > 0 and took > _ENOUGH_S):
            return


def _slowest(comm: MPI.Comm, run: Callable[[], object]) -> float:
    """Seconds of the slowest rank."""
    comm.Barrier()
    begun = time.perf_counter()
    run()
    took: float = comm.allreduce(time.perf_counter() - begun, MPI.MAX)
    return took


def _step(grids: dict[int, SilentGrid], comm: MPI.Comm, part: Part) -> _Step:
    """This rank's part of a layer, its numbers drawn."""
    if part.samples not in grids:
        grids[part.samples] = SilentGrid(comm, part.samples)
    grid, shape = grids[part.samples], part.shape
    layer = Product() if shape.is_product else Windows(shape.stride, shape.padding, shape.dilation)
    placement = grid.placement("stationary-w", part.ways.filters)
    cut = Cut(layer, placement, grid.parts(shape.channels), grid.parts(shape.filters), grid.among_samples)
    start, stop = share(0, shape.samples, grid.sample, grid.samples)
    channels, filters = (parts.sizes[grid.channel] for parts in (cut.channels, cut.filters))
    window, x_size, y_size = ((), (), ()) if shape.is_product else (shape.window, shape.input_size, shape.output_size)
    held = sum(cut.own_filters), sum(cut.own_channels)
    return _Step(
        cut,
        torch.randn(stop - start, channels, *x_size, requires_grad=part.needs_dx),
        torch.randn(*held, *window, requires_grad=True),
        torch.randn(filters, requires_grad=True) if shape.has_bias else None,
        torch.randn(stop - start, filters, *y_size),
    )


def _points(comm: MPI.Comm, group: Group, collective: Collective, numbers: int) -> tuple[float, float]:
    """Bytes that a rank moves, and seconds, where a collective is about at least so many numbers."""
    each = -(-numbers // group.size)
    own, whole, counts = torch.zeros(each), torch.zeros(each * group.size), [each] * group.size
    runs: dict[Collective, Callable[[], Pending]] = {
        "gather": lambda: group.all_gather(own, counts, "layers"),
        "scatter": lambda: group.reduce_scatter(whole, own, counts, "layers"),
        "sum": lambda: group.all_reduce(whole, "layers"),
    }
    times = []
    for _ in range(_SENDINGS):
        own.zero_(), whole.zero_()  # as what is sent has just been computed
        times.append(_slowest(comm, lambda: runs[collective]().wait()))
    moved = 4 * (len(whole) - each) * (2 if collective == "sum" else 1)
    return moved, statistics.median(times[1:])


def part_of(written: Mapping[str, Any]) -> Part:
    """A part from what `dataclasses.asdict` and JSON make of it."""
    shape: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in written["shape"].items()
    }
    return Part(ConvolutionShape(**shape), Ways(**written["ways"]), written["samples"], written["needs_dx"])


def main() -> None:
    """Measure what is asked for on standard input."""
    comm = MPI.COMM_WORLD
    bind(comm.rank, comm.size)  # all are on this host
    torch.set_num_threads(1)
    asked = comm.bcast(json.load(sys.stdin) if comm.rank == 0 else None)
    seconds = measure_parts(comm, [part_of(one) for one in asked["parts"]])
    links = measure_links(comm) if asked["collectives"] and comm.size > 1 else {}
    if comm.rank == 0:
        found = {"parts": seconds, "links": {one: asdict(link) for one, link in links.items()}}
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
