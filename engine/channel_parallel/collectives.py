"""What ranks of a grid send each other: three collectives, by MPI between CPUs, by torch.distributed between GPUs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import torch
from mpi4py import MPI
from torch import Tensor, distributed

from engine.channel_parallel.algorithms import GridError, Transfer
from engine.data.shards import share

_BY_MPI = (torch.float32, torch.float64)


class Traffic:
    """Bytes that one rank has moved, by what they were moved for.

    Of n bytes that a collective is about, of which `own` end with or come from this rank, a rank moves n - own in an
    all-gather (it receives them) and in a reduce-scatter (it sends them), and twice that in an all-reduce, which is one
    after the other. No algorithm moves less where all ranks take part alike (Chan et al., Collective communication:
    theory, practice, and experience, 2007).
    """

    def __init__(self) -> None:
        self.bytes: Counter[Transfer] = Counter()

    def add(self, transfer: Transfer, elements: int, tensor: Tensor) -> None:
        """Count so many elements of the type of `tensor`."""
        self.bytes[transfer] += elements * tensor.element_size()


class Pending:
    """A collective on its way."""

    def __init__(self, result: Tensor, finish: Callable[[], object] | None = None) -> None:
        self._result, self._finish = result, finish
        self._then: Callable[[Tensor], Tensor] | None = None

    def then(self, made: Callable[[Tensor], Tensor]) -> Pending:
        """The same, with what `made` makes of its result."""
        self._then = made
        return self

    def wait(self) -> Tensor:
        """The result, when it is there; on a GPU the stream waits, and not the host. To be called once."""
        if self._finish:
            self._finish()
        return self._then(self._result) if self._then else self._result


class Group(ABC):
    """Ranks that send each other flat tensors. Each method is collective and returns before the tensors have arrived.

    A tensor that is handed over must stay as it is until `wait`. `counts` are the elements of each rank's part, the
    same list on every rank; parts may be empty. One rank alone moves nothing and gets its own tensor back.
    """

    def __init__(self, rank: int, size: int, traffic: Traffic) -> None:
        self.rank, self.size, self._traffic = rank, size, traffic

    def all_gather(self, own: Tensor, counts: Sequence[int], transfer: Transfer) -> Pending:
        """Every rank's part [counts[rank]], one after another: [sum of counts]."""
        if self.size == 1:
            return Pending(own)
        into = own.new_empty(sum(counts))
        self._traffic.add(transfer, len(into) - counts[self.rank], own)
        return self._gather(own, into, counts) if len(into) else Pending(into)

    def reduce_scatter(self, values: Tensor, into: Tensor, counts: Sequence[int], transfer: Transfer) -> Pending:
        """This rank's part of the sum of all ranks' `values` [sum of counts], in `into`: counts[rank], in any shape."""
        if self.size == 1:
            return Pending(values.view_as(into))
        self._traffic.add(transfer, len(values) - into.numel(), values)
        return self._scatter(values, into, counts) if len(values) else Pending(into)

    def all_reduce(self, values: Tensor, transfer: Transfer) -> Pending:
        """The sum of all ranks' `values` [count], which takes their place."""
        if self.size == 1 or not len(values):
            return Pending(values)
        start, stop = share(0, len(values), self.rank, self.size)
        self._traffic.add(transfer, 2 * (len(values) - (stop - start)), values)
        return self._sum(values)

    @abstractmethod
    def _gather(self, own: Tensor, into: Tensor, counts: Sequence[int]) -> Pending: ...

    @abstractmethod
    def _scatter(self, values: Tensor, into: Tensor, counts: Sequence[int]) -> Pending: ...

    @abstractmethod
    def _sum(self, values: Tensor) -> Pending: ...


class MpiGroup(Group):
    """By MPI's collectives, between tensors of float32 or float64 in the host's memory."""

    def __init__(self, comm: MPI.Comm, traffic: Traffic) -> None:
        super().__init__(comm.rank, comm.size, traffic)
        self._comm = comm

    def _gather(self, own: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:
        return self._sent(into, self._comm.Iallgatherv(_message(own), (_message(into), counts)), own)

    def _scatter(self, values: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:
        return self._sent(into, self._comm.Ireduce_scatter(_message(values), _message(into), list(counts)), values)

    def _sum(self, values: Tensor) -> Pending:
        return self._sent(values, self._comm.Iallreduce(MPI.IN_PLACE, _message(values)), values)

    def _sent(self, result: Tensor, request: MPI.Request, message: Tensor) -> Pending:
        def finish() -> None:
            request.Wait()
            del kept[:]

        kept = [message]  # which mpi4py's requests of collectives let go of (4.1)
        return Pending(result, finish)


def _message(tensor: Tensor) -> Any:
    if tensor.dtype not in _BY_MPI:
        raise GridError(
            f"precision: MPI sums float32 and float64, and the network computes in {tensor.dtype}",
            "use float32 on CPUs",
        )
    return tensor.detach().numpy()


class TorchGroup(Group):
    """By a process group of torch.distributed: NCCL between GPUs, where all is queued on streams.

    Its collectives want parts of one size, so that unequal ones travel padded to the largest; padding is not counted as
    traffic.
    """

    def __init__(self, group: distributed.ProcessGroup, traffic: Traffic) -> None:
        super().__init__(group.rank(), group.size(), traffic)
        self._group = group

    def _gather(self, own: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:
        largest = max(counts)
        equal = into if min(counts) == largest else into.new_empty(self.size * largest)
        slots = list(torch.split(equal, largest))
        work = distributed.all_gather(slots, _padded(own, largest), group=self._group, async_op=True)

        def finish() -> None:
            work.wait()
            if equal is not into:
                torch.cat([slot[:count] for slot, count in zip(slots, counts, strict=True)], out=into)

        return Pending(into, finish)

    def _scatter(self, values: Tensor, into: Tensor, counts: Sequence[int]) -> Pending:
        largest = max(counts)
        parts = [_padded(one, largest) for one in torch.split(values, list(counts))]
        part = into.view(-1)
        slot = part if len(part) == largest else part.new_empty(largest)
        work = distributed.reduce_scatter(slot, parts, group=self._group, async_op=True)

        def finish() -> None:
            work.wait()
            if slot is not part:
                part.copy_(slot[: len(part)])

        return Pending(into, finish)

    def _sum(self, values: Tensor) -> Pending:
        return Pending(values, distributed.all_reduce(values, group=self._group, async_op=True).wait)


def _padded(part: Tensor, length: int) -> Tensor:
    return part if len(part) == length else torch.cat([part, part.new_zeros(length - len(part))])


def starts(sizes: Sequence[int]) -> list[int]:
    """Where parts of these sizes begin, and where the last one ends."""
    return [0, *accumulate(sizes)]
