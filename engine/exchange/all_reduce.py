"""All-reduce: every rank comes to the mean of all, and applies it itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from mpi4py import MPI
from torch import Tensor

from engine.exchange.buckets import Buckets, Sent
from engine.exchange.meeting import Meeting
from engine.exchange.staging import Staging
from engine.exchange.sums import SumOverRanks
from engine.flat import FlatParameters
from engine.optimizer import Optimizer
from engine.phases import Phases

Averaged = Literal["gradients", "weights"]


class Averaging(ABC):
    """A step of ranks that average gradients or weights, and each apply what they know themselves.

    With `bucket_bytes` gradients are averaged in buckets of about that size, sent while others are computed.
    """

    def __init__(
        self,
        flat: FlatParameters,
        optimizer: Optimizer,
        phases: Phases,
        average: Averaged,
        bucket_bytes: int | None = None,
    ) -> None:
        self._flat, self._optimizer, self._phases, self._average = flat, optimizer, phases, average
        self._buckets = Buckets(flat, self._launch, bucket_bytes) if bucket_bytes else None
        self.overlapped = self._buckets is not None

    def warm_up(self) -> None:
        """Sum the gradients once, which the next step computes anew."""
        self._mean("gradients")

    def step(self, combine: bool = True) -> None:
        """Average the gradients and apply them, or apply the rank's own and average the weights."""
        if self._average == "gradients":
            self._mean("gradients")
        self._phases.enter("update")
        self._optimizer.step()
        if self._average == "weights" and combine:
            self._mean("weights")

    @abstractmethod
    def _mean(self, name: Averaged) -> None:
        """Replace the buffer of that name by its mean over the ranks."""

    @abstractmethod
    def _launch(self, part: Tensor) -> Sent:
        """Begin what `_mean` ends for a part of the gradients."""


class AllReduce(Averaging):
    """Gradients or weights averaged by a sum over ranks of one kind or another; in buckets by MPI's own only."""

    on_device = False

    def __init__(
        self,
        comm: MPI.Comm,
        flat: FlatParameters,
        optimizer: Optimizer,
        phases: Phases,
        average: Averaged,
        sum_over_ranks: SumOverRanks,
        staging: Staging,
        bucket_bytes: int | None = None,
    ) -> None:
        self._comm, self._sum_over_ranks = comm, sum_over_ranks
        self._staging, self.staging = staging, staging.name
        self._meet = Meeting(comm, flat.weights.device, phases)
        super().__init__(flat, optimizer, phases, average, bucket_bytes)

    def start(self) -> None:
        """Give every rank the weights of rank 0."""
        self._comm.Bcast(self._staging.message(self._staging.take("weights")), root=0)
        self._staging.give("weights")

    def _mean(self, name: Averaged) -> None:
        self._meet()
        self._phases.enter("all-reduce")
        if self._buckets and name == "gradients":
            self._buckets.finish()
            buffer = self._staging.buffer(name)
        else:
            buffer = self._staging.take(name)
            self._sum_over_ranks(buffer)
        buffer.mul_(1 / self._comm.size)
        self._staging.give(name)

    def _launch(self, part: Tensor) -> Sent:
        return _SentByMpi(self._comm.Iallreduce(MPI.IN_PLACE, self._staging.message(part)))


class _SentByMpi:
    def __init__(self, request: MPI.Request) -> None:
        self._request = request

    def poll(self) -> None:
        self._request.Test()

    def wait(self) -> None:
        self._request.Wait()
