"""Ranks on cores of their own."""

from __future__ import annotations

import os

VARIABLE = (
    "SWEEPER_CORES"  # the cores of all ranks of a gang, each rank's after the other's; unset: wherever there is room
)


def bind(rank: int, ranks: int) -> None:
    """Keep this process, and all that it starts, to its share of the cores that the gang was given."""
    named = os.environ.get(VARIABLE)
    if named:
        cores = [int(core) for core in named.split(",")]
        each = len(cores) // ranks
        os.sched_setaffinity(0, cores[rank * each : (rank + 1) * each])
