"""Process grids over all ranks, each made once: an MPI has only so many communicators."""

from __future__ import annotations

import functools

from mpi4py import MPI

from engine.channel_parallel import ALGORITHMS, Algorithm
from engine.channel_parallel.algorithms import divisors
from engine.channel_parallel.grid import ProcessGrid
from engine.data.shards import share

WORLD = MPI.COMM_WORLD
SAMPLES = divisors(WORLD.size)  # in how many rows the ranks can be put


@functools.cache
def grid_of(samples: int) -> ProcessGrid:
    """The grid with so many rows."""
    return ProcessGrid(WORLD, samples)


def own_samples(grid: ProcessGrid, batch: int) -> slice:
    """Those of a batch that this rank's row has."""
    return slice(*share(0, batch, grid.sample, grid.samples))


def cuts_of(samples: int) -> list[tuple[Algorithm, int | None]]:
    """Every algorithm on a grid with so many rows, stationary-w with each number of filters."""
    among = WORLD.size // samples
    plain: list[tuple[Algorithm, int | None]] = [(one, None) for one in ALGORITHMS]
    return [*plain, *(("stationary-w", filters) for filters in divisors(among))]
