"""Sums over ranks by MPI, by one way or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from mpi4py import MPI
from torch import Tensor

from engine.data.shards import share
from engine.exchange.staging import Staging

SumOverRanks = Callable[[Tensor], None]
"""Replaces a buffer [count] by its sum over all ranks, the same to the last bit on each; collective."""


def mpi_sum(comm: MPI.Comm, staging: Staging) -> SumOverRanks:
    """MPI's own all-reduce, which picks its algorithm by the size of the message and the place of the ranks."""
    return lambda buffer: comm.Allreduce(MPI.IN_PLACE, staging.message(buffer))


def reduce_and_broadcast(comm: MPI.Comm, staging: Staging) -> SumOverRanks:
    """All to rank 0, which adds up, and back."""

    def sum_over_ranks(buffer: Tensor) -> None:
        message = staging.message(buffer)
        _reduce(comm, message)
        comm.Bcast(message, root=0)

    return sum_over_ranks


def ring_sum(comm: MPI.Comm, staging: Staging) -> SumOverRanks:
    """A reduce-scatter and an all-gather along a ring: each rank sends 2 (n - 1) / n of the buffer, to its right.

    After Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
    """
    rank, ranks = comm.rank, comm.size
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    space: list[Tensor] = []  # to receive in, made once

    def sum_over_ranks(buffer: Tensor) -> None:
        bounds = [share(0, len(buffer), part, ranks) for part in range(ranks)]
        parts = [buffer[start:stop] for start, stop in bounds]
        if not space or len(space[0]) < max(map(len, parts)):
            space[:] = [torch.empty_like(max(parts, key=len))]
        for turn in range(ranks - 1):
            going, coming = parts[(rank - turn) % ranks], parts[(rank - turn - 1) % ranks]
            came = space[0][: len(coming)]
            comm.Sendrecv(staging.message(going), right, recvbuf=staging.message(came), source=left)
            coming += came
            staging.settle()
        for turn in range(ranks - 1):
            going, coming = parts[(rank + 1 - turn) % ranks], parts[(rank - turn) % ranks]
            comm.Sendrecv(staging.message(going), right, recvbuf=staging.message(coming), source=left)

    return sum_over_ranks


def hierarchical_sum(comm: MPI.Comm, staging: Staging, on_host: MPI.Comm | None = None) -> SumOverRanks:
    """Within each host to its first rank, over the hosts between these, and within each host again.

    `on_host` is this rank's part of a partition of `comm`; ranks that share memory unless given. Collective.
    """
    near, firsts = _levels(comm) if on_host is None else (on_host, _firsts(comm, on_host))

    def sum_over_ranks(buffer: Tensor) -> None:
        message = staging.message(buffer)
        _reduce(near, message)
        if near.rank == 0:
            firsts.Allreduce(MPI.IN_PLACE, message)
        near.Bcast(message, root=0)

    return sum_over_ranks


def _levels(comm: MPI.Comm) -> tuple[MPI.Comm, MPI.Comm]:
    """The ranks of each host, and the first of each: made once for a communicator, since an MPI has only so many."""
    known = cast("tuple[MPI.Comm, MPI.Comm] | None", comm.Get_attr(_LEVELS))
    if known is not None:
        return known
    near = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    levels = (near, _firsts(comm, near))
    comm.Set_attr(_LEVELS, levels)
    return levels


def _firsts(comm: MPI.Comm, near: MPI.Comm) -> MPI.Comm:
    return comm.Split(0 if near.rank == 0 else MPI.UNDEFINED, comm.rank)


_LEVELS = MPI.Comm.Create_keyval()


def _reduce(comm: MPI.Comm, message: Any) -> None:
    """The sum over ranks replaces rank 0's message."""
    if comm.rank == 0:
        comm.Reduce(MPI.IN_PLACE, message, root=0)
    else:
        comm.Reduce(message, None, root=0)
