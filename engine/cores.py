"""Ranks on cores of their own."""

from __future__ import annotations

import os

# The cores of a gang's ranks on this host, each rank's after the other's; unset: wherever there is room.
VARIABLE = "SWEEPER_CORES"


def bind(rank: int, ranks: int) -> None:
    """Keep this process, rank `rank` of the `ranks` on its host, and all that it starts, to its share of the cores."""
    named = os.environ.get(VARIABLE)
    if named:
        cores = [int(core) for core in named.split(",")]
        each = len(cores) // ranks
        os.sched_setaffinity(0, cores[rank * each : (rank + 1) * each])
