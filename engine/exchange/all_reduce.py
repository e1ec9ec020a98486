"""All-reduce: every rank comes to the mean of all, and applies it itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from torch.optim import Optimizer

from engine.data.shards import share
from engine.flat import FlatParameters
from engine.phases import Phases

Buffer = NDArray[Any]
SumOverRanks = Callable[[Buffer], None]
"""Replaces a buffer [count] by its sum over all ranks, the same to the last bit on each; collective."""


Averaged = Literal["gradients", "weights"]


class Averaging(ABC):
    """A step of ranks that average gradients or weights, and each apply what they know themselves."""

    def __init__(self, flat: FlatParameters, optimizer: Optimizer, phases: Phases, average: Averaged) -> None:
        self._flat, self._optimizer, self._phases, self._average = flat, optimizer, phases, average

    def warm_up(self) -> None:
        """Sum the gradients once, which the next step computes anew."""
        self._mean("gradients")

    def step(self, combine: bool = True) -> None:
        """Average the gradients and apply them, or apply the rank's own and average the weights."""
        if self._average == "gradients":
            self._mean("gradients")
        with self._phases("update"):
            self._optimizer.step()
        if self._average == "weights" and combine:
            self._mean("weights")

    @abstractmethod
    def _mean(self, name: Averaged) -> None:
        """Replace the buffer of that name by its mean over the ranks."""


class AllReduce(Averaging):
    """Gradients or weights averaged over host buffers by a sum over ranks of one kind or another."""

    on_device = False

    def __init__(
        self,
        comm: MPI.Comm,
        flat: FlatParameters,
        optimizer: Optimizer,
        phases: Phases,
        average: Averaged,
        sum_over_ranks: SumOverRanks,
    ) -> None:
        super().__init__(flat, optimizer, phases, average)
        self._comm, self._sum_over_ranks = comm, sum_over_ranks

    def start(self) -> None:
        """Give every rank the weights of rank 0."""
        self._flat.to_host("weights")
        self._comm.Bcast(self._flat.host_weights, root=0)
        self._flat.from_host("weights")

    def _mean(self, name: Averaged) -> None:
        if self._comm.size == 1:
            return
        with self._phases("all-reduce"):
            self._flat.to_host(name)
            buffer = self._flat.host_weights if name == "weights" else self._flat.host_gradients
            self._sum_over_ranks(buffer)
            np.multiply(buffer, 1 / self._comm.size, out=buffer)
            self._flat.from_host(name)


def mpi_sum(comm: MPI.Comm) -> SumOverRanks:
    """MPI's own all-reduce, which picks its algorithm by the size of the message and the place of the ranks."""
    return lambda buffer: comm.Allreduce(MPI.IN_PLACE, buffer)


def reduce_and_broadcast(comm: MPI.Comm) -> SumOverRanks:
    """All to rank 0, which adds up, and back."""

    def sum_over_ranks(buffer: Buffer) -> None:
        if comm.rank == 0:
            comm.Reduce(MPI.IN_PLACE, buffer, root=0)
        else:
            comm.Reduce(buffer, None, root=0)
        comm.Bcast(buffer, root=0)

    return sum_over_ranks


def ring_sum(comm: MPI.Comm) -> SumOverRanks:
    """A reduce-scatter and an all-gather along a ring: each rank sends 2 (n - 1) / n of the buffer, to its right.

    After Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
    """
    rank, ranks = comm.rank, comm.size
    left, right = (rank - 1) % ranks, (rank + 1) % ranks

    def sum_over_ranks(buffer: Buffer) -> None:
        bounds = [share(0, len(buffer), part, ranks) for part in range(ranks)]
        parts = [buffer[start:stop] for start, stop in bounds]
        arrived = np.empty(max(map(len, parts)), buffer.dtype)
        for turn in range(ranks - 1):
            going, coming = parts[(rank - turn) % ranks], parts[(rank - turn - 1) % ranks]
            comm.Sendrecv(going, right, recvbuf=arrived[: len(coming)], source=left)
            coming += arrived[: len(coming)]
        for turn in range(ranks - 1):
            going, coming = parts[(rank + 1 - turn) % ranks], parts[(rank - turn) % ranks]
            comm.Sendrecv(going, right, recvbuf=coming, source=left)

    return sum_over_ranks


def hierarchical_sum(comm: MPI.Comm, on_host: MPI.Comm | None = None) -> SumOverRanks:
    """Within each host to its first rank, over the hosts between these, and within each host again.

    `on_host` is this rank's part of a partition of `comm`; ranks that share memory unless given. Collective.
    """
    near = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank) if on_host is None else on_host
    firsts = comm.Split(0 if near.rank == 0 else MPI.UNDEFINED, comm.rank)

    def sum_over_ranks(buffer: Buffer) -> None:
        if near.rank == 0:
            near.Reduce(MPI.IN_PLACE, buffer, root=0)
            firsts.Allreduce(MPI.IN_PLACE, buffer)
        else:
            near.Reduce(buffer, None, root=0)
        near.Bcast(buffer, root=0)

    return sum_over_ranks
