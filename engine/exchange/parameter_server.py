"""The paper's parameter server: rank 0 gathers, averages, and distributes (sections 2 and 6)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mpi4py import MPI
from torch import Tensor

from engine.exchange.meeting import Meeting
from engine.exchange.staging import Staging
from engine.flat import FlatParameters
from engine.optimizer import Optimizer
from engine.phases import Phases

SERVER = 0
# On two cores smaller pieces were slower at any size. Whole messages of 100 MB were 5 to 13 percent slower on 2 ranks,
# 5 to 25 percent faster on 3 and 4, which had to share cores, and need their whole size again for each rank.
PIECE_BYTES = 1 << 20
_IN_FLIGHT = 2  # pieces of each rank: one arrives while the one before is added
_SENT_TO_EACH = 4  # up to so many ranks the server sends to each itself; over more MPI's broadcast goes by a tree


class _ParameterServer:
    """What both kinds share: rank 0's weights for all, the mean of all ranks' parts on rank 0."""

    on_device = False
    overlapped = False

    def __init__(
        self, comm: MPI.Comm, flat: FlatParameters, optimizer: Optimizer, phases: Phases, staging: Staging
    ) -> None:
        self._comm, self._flat, self._optimizer, self._phases = comm, flat, optimizer, phases
        self._staging, self.staging = staging, staging.name
        self._is_server = comm.rank == SERVER
        self._meet = Meeting(comm, flat.weights.device, phases)
        length = max(1, PIECE_BYTES // flat.weights.element_size())
        self._pieces = {name: torch.split(staging.buffer(name), length) for name in ("gradients", "weights")}
        if self._is_server:
            slots = min(_IN_FLIGHT, len(self._pieces["weights"]))
            shape = (comm.size - 1, slots, min(length, len(flat)))
            self._arriving = torch.empty(shape, dtype=flat.weights.dtype, device=staging.buffer("weights").device)

    def start(self) -> None:
        """Give every rank the weights of rank 0."""
        self._staging.take("weights")
        self._broadcast()

    def warm_up(self) -> None:
        """Gather the gradients, which the next step computes anew, and broadcast the weights, which stay as they are.

        Ranks that start with weights of their own get these back.
        """
        kept = self._flat.weights.clone()
        self._gather_mean("gradients")
        self._staging.take("weights")
        self._broadcast()
        self._flat.weights.copy_(kept)

    def _gather_mean(self, name: str) -> None:
        """On rank 0 the mean over all ranks replaces the buffer of that name."""
        pieces = self._pieces[name]
        self._meet()
        self._phases.enter("gather")
        self._staging.take(name)
        if not self._is_server:
            MPI.Request.Waitall([self._sending(piece) for piece in pieces])
            return
        others = range(self._comm.size - 1)
        arriving = [[self._receiving(other, number, pieces) for number in range(_IN_FLIGHT)] for other in others]
        self._add_up(pieces, arriving)

    def _add_up(self, pieces: Sequence[Tensor], arriving: list[list[MPI.Request]]) -> None:
        """Each piece, in the order of ranks, while later ones arrive: the sum has the same bits in every run."""
        part = 1 / self._comm.size
        for number, own in enumerate(pieces):
            slot = number % _IN_FLIGHT
            for other, requests in enumerate(arriving):
                requests[slot].Wait()
                with self._phases.within("average"):
                    if other == 0:
                        own.mul_(part)
                    own.add_(self._arriving[other, slot, : len(own)], alpha=part)
                    self._staging.settle()
                requests[slot] = self._receiving(other, number + _IN_FLIGHT, pieces)

    def _sending(self, piece: Tensor) -> MPI.Request:
        return self._comm.Isend(self._staging.message(piece), SERVER)

    def _receiving(self, other: int, number: int, pieces: Sequence[Tensor]) -> MPI.Request:
        """Piece `number` of rank `other` + 1 on its way; nothing after the last one."""
        if number >= len(pieces):
            return MPI.REQUEST_NULL
        place = self._arriving[other, number % _IN_FLIGHT, : len(pieces[number])]
        return self._comm.Irecv(self._staging.message(place), other + 1)

    def _broadcast(self) -> None:
        """Rank 0's message of the weights becomes the weights of all."""
        self._phases.enter("broadcast")
        comm, message = self._comm, self._staging.message(self._staging.buffer("weights"))
        if comm.size > _SENT_TO_EACH:
            comm.Bcast(message, root=SERVER)
        elif self._is_server:
            MPI.Request.Waitall([comm.Isend(message, other) for other in range(1, comm.size)])
        else:
            comm.Recv(message, SERVER)
        self._staging.give("weights")


class GradientServer(_ParameterServer):
    """w = w - rate * mean of g_i (equation 2.1): rank 0 averages the gradients, applies them, sends the weights."""

    def step(self, combine: bool = True) -> None:  # noqa: ARG002 - gradients are combined at each step
        """Gather gradients, average and apply them on rank 0, broadcast the weights."""
        self._gather_mean("gradients")
        if self._is_server:
            self._phases.enter("update")
            self._staging.give("gradients")
            self._optimizer.step()
            self._phases.enter("broadcast")
            self._staging.take("weights")
        self._broadcast()


class WeightServer(_ParameterServer):
    """w = mean of (w_i - rate * g_i) (equation 2.2): every rank applies its gradients, rank 0 averages the weights."""

    def step(self, combine: bool = True) -> None:
        """Apply the rank's own gradients, gather the weights, average them on rank 0, broadcast them."""
        self._phases.enter("update")
        self._optimizer.step()
        if not combine:
            return
        self._gather_mean("weights")
        self._broadcast()
