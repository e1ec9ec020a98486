"""Where a rank sits: which of its host's ranks it is, and how other hosts reach it. Known before MPI is loaded."""

from __future__ import annotations

import os

ADDRESS_VARIABLE = "SWEEPER_ADDRESS"  # of this host; unset where a gang sits on one host
_LOCAL = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")
_LOCAL_SIZE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")


def local_rank(rank: int) -> int:
    """The number of this rank among those of its host; `rank` itself where mpiexec does not say."""
    return int(first_set(_LOCAL, str(rank)))


def local_ranks(ranks: int) -> int:
    """How many ranks this host has; all of them where mpiexec does not say."""
    return int(first_set(_LOCAL_SIZE, str(ranks)))


def address() -> str:
    """The address by which the other hosts of a gang reach this one; "" where there are none."""
    return os.environ.get(ADDRESS_VARIABLE, "")


def first_set(names: tuple[str, ...], otherwise: str) -> str:
    """The value of the first of these variables that is set."""
    return next((os.environ[name] for name in names if name in os.environ), otherwise)
