"""Sums over ranks by MPI, by one way or another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from mpi4py import MPI
from torch import Tensor

from engine.data.shards import share
from engine.exchange.staging import Staging

PIECE_BYTES = 1 << 20  # of a ring: it stays in a core's cache from its arrival until it is sent on
_ARRIVING = 2  # pieces: one comes while the one before is added
_BUFFERS = 2  # that a ring is kept for: weights and gradients
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
    rings: dict[tuple[int, int], _Ring] = {}

    def sum_over_ranks(buffer: Tensor) -> None:
        if comm.size == 1:
            return
        place = (buffer.data_ptr(), len(buffer))
        if place not in rings:
            if len(rings) == _BUFFERS:
                del rings[next(iter(rings))]
            rings[place] = _Ring(comm, staging, buffer, piece_bytes)
        rings[place].run()

    return sum_over_ranks


@dataclass(frozen=True)
class _Arrival:
    """A piece that comes from the left: what is added to it, and what of it goes on to the right.

    It comes into `space`, or takes the place of what was there and must have been `sent` before.
    """

    request: MPI.Prequest
    piece: Tensor
    space: Tensor | None
    sent: MPI.Prequest | None
    onward: MPI.Prequest | None

    def begin(self) -> None:
        if self.sent:
            self.sent.Wait()
        self.request.Start()


class _Ring:
    """One buffer's way round the ring, in requests that are made once and started for each sum.

    Part p of the buffer begins at rank p. In turns 0 to n - 2 a rank adds what comes from the left to its own of that
    part, in turns n - 1 to 2 n - 3 what comes is the sum already; all but the last turn's goes on to the right.
    """

    def __init__(self, comm: MPI.Comm, staging: Staging, buffer: Tensor, piece_bytes: int) -> None:
        self._staging = staging
        ranks, rank = comm.size, comm.rank
        bounds = [share(0, len(buffer), part, ranks) for part in range(ranks)]
        length = max(1, piece_bytes // buffer.element_size())
        parts = [torch.split(buffer[start:stop], length) for start, stop in bounds]
        spaces = [torch.empty_like(buffer[: min(length, -(-len(buffer) // ranks))]) for _ in range(_ARRIVING)]

        def sending(piece: Tensor) -> MPI.Prequest:
            return comm.Send_init(staging.message(piece), (rank + 1) % ranks)

        self._first = [sending(piece) for piece in parts[rank]]
        self._sends = [*self._first]
        self._arrivals: list[_Arrival] = []
        sent = {(rank, number): request for number, request in enumerate(self._first)}
        for turn in range(2 * (ranks - 1)):
            part = (rank - turn - 1) % ranks
            for number, piece in enumerate(parts[part]):
                adds, goes_on = turn < ranks - 1, turn < 2 * ranks - 3
                space = spaces[len(self._arrivals) % _ARRIVING][: len(piece)] if adds else None
                request = comm.Recv_init(staging.message(piece if space is None else space), (rank - 1) % ranks)
                onward = sending(piece) if goes_on else None
                before = None if adds else sent[part, number]
                if onward:
                    sent[part, number] = onward
                    self._sends.append(onward)
                self._arrivals.append(_Arrival(request, piece, space, before, onward))
        # No more than are added, or a rank would wait for a piece to be sent that it has yet to receive.
        self._ahead = min(_ARRIVING, sum(one.space is not None for one in self._arrivals))

    def run(self) -> None:
        """Sum up what the buffer holds now."""
        for arrival in self._arrivals[: self._ahead]:
            arrival.begin()
        MPI.Prequest.Startall(self._first)
        for place, arrival in enumerate(self._arrivals, self._ahead):
            arrival.request.Wait()
            if arrival.space is not None:
                arrival.piece.add_(arrival.space)
                self._staging.settle()
            if arrival.onward:
                arrival.onward.Start()
            if place < len(self._arrivals):
                self._arrivals[place].begin()
        MPI.Request.Waitall(self._sends)

    def __del__(self) -> None:
        if not MPI.Is_finalized():
            for request in (*self._sends, *(arrival.request for arrival in self._arrivals)):
                request.Free()


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
