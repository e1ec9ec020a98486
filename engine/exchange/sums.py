"""Sums over ranks by MPI, by one way or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from mpi4py import MPI
from torch import Tensor

from engine.data.shards import share
from engine.exchange.staging import Staging

PIECE_BYTES = 512 << 10  # of a ring: it stays in a core's cache from its arrival until it is sent on
_ARRIVING = 2  # pieces: one comes while the one before is added
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


def ring_sum(comm: MPI.Comm, staging: Staging, piece_bytes: int = PIECE_BYTES) -> SumOverRanks:
    """A reduce-scatter and an all-gather along a ring: each rank sends 2 (n - 1) / n of the buffer, to its right.

    After Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009. Each rank's
    part goes round in pieces, so that one is added and sent on while the next arrives.
    """
    space: list[Tensor] = []  # to receive in, made once

    def sum_over_ranks(buffer: Tensor) -> None:
        length = max(1, piece_bytes // buffer.element_size())
        largest = min(length, -(-len(buffer) // comm.size))
        if not space or len(space[0]) < largest:
            space[:] = [torch.empty_like(buffer[:largest]) for _ in range(_ARRIVING)]
        if comm.size > 1:
            _Round(comm, staging, buffer, length, space).run()

    return sum_over_ranks


class _Round:
    """One buffer's way round the ring.

    Part p of the buffer begins at rank p. In turns 0 to n - 2 a rank adds what comes from the left to its own of that
    part, in turns n - 1 to 2n - 3 what comes is the sum already; all but the last turn's goes on to the right.
    """

    def __init__(self, comm: MPI.Comm, staging: Staging, buffer: Tensor, length: int, space: list[Tensor]) -> None:
        self._comm, self._staging, self._space = comm, staging, space
        ranks = comm.size
        self._turns, self._adding = 2 * (ranks - 1), ranks - 1
        bounds = [share(0, len(buffer), part, ranks) for part in range(ranks)]
        self._parts = [torch.split(buffer[start:stop], length) for start, stop in bounds]
        turns = [(turn, (comm.rank - turn - 1) % ranks) for turn in range(self._turns)]
        self._coming = [(turn, part, n) for turn, part in turns for n in range(len(self._parts[part]))]
        self._sent: dict[tuple[int, int], MPI.Request] = {}  # the last of each piece

    def run(self) -> None:
        # No more than come in a turn at least, or two ranks could wait for each other to post what the other sends.
        ahead = min(_ARRIVING, sum(turn < self._adding for turn, _, _ in self._coming))
        requests = [self._receive(number) for number in range(ahead)]
        for number in range(len(self._parts[self._comm.rank])):
            self._send(self._comm.rank, number)
        for place, (turn, part, number) in enumerate(self._coming):
            requests[place % ahead].Wait()
            if turn < self._adding:
                piece = self._parts[part][number]
                piece += self._slot(place, len(piece))
                self._staging.settle()
            if turn + 1 < self._turns:
                self._send(part, number)
            if place + ahead < len(self._coming):
                requests[place % ahead] = self._receive(place + ahead)
        MPI.Request.Waitall(list(self._sent.values()))

    def _slot(self, place: int, length: int) -> Tensor:
        return self._space[place % len(self._space)][:length]

    def _send(self, part: int, number: int) -> None:
        right = (self._comm.rank + 1) % self._comm.size
        message = self._staging.message(self._parts[part][number])
        self._sent[part, number] = self._comm.Isend(message, right)

    def _receive(self, place: int) -> MPI.Request:
        turn, part, number = self._coming[place]
        piece = self._parts[part][number]
        if turn < self._adding:
            piece = self._slot(place, len(piece))
        else:
            self._sent[part, number].Wait()  # what it was before it was the sum
        return self._comm.Irecv(self._staging.message(piece), (self._comm.rank - 1) % self._comm.size)


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
