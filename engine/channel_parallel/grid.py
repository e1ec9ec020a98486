"""The process grid: ranks by the samples and by the channels that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from mpi4py import MPI
from torch import Tensor, distributed

from engine.channel_parallel.algorithms import Algorithm, GridError, Ways, divisors, ways_of
from engine.channel_parallel.collectives import Group, MpiGroup, TorchGroup, Traffic, starts
from engine.data.shards import share
from engine.exchange.nccl import NcclGroup, why_not_nccl


@dataclass(frozen=True)
class Parts:
    """How the channels of a tensor are cut among ranks: one after another, part r having `sizes[r]`, which may be 0."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, channels: int, ranks: int) -> Parts:
        """As even as can be: sizes differ by one at most."""
        bounds = [share(0, channels, rank, ranks) for rank in range(ranks)]
        return cls(tuple(stop - start for start, stop in bounds))

    @property
    def whole(self) -> int:
        """The channels of all parts."""
        return sum(self.sizes)

    def times(self, features: int) -> Parts:
        """The parts of the features that channels become when they are flattened, so many from each."""
        return Parts(tuple(size * features for size in self.sizes))

    def range(self, rank: int) -> slice:
        """Where the part of a rank lies in the whole."""
        bounds = starts(self.sizes)
        return slice(bounds[rank], bounds[rank + 1])

    def indices(self, *ranks: int) -> Tensor:
        """The channels of the parts of some ranks, in the order of the ranks: [channels], int64."""
        everything = torch.arange(self.whole)
        return torch.cat([everything[self.range(rank)] for rank in ranks])


@dataclass(frozen=True)
class Placement:
    """Which part of a layer's weights each rank of a channel group holds.

    The ranks are in `ways.channels` rows of `ways.filters`: rank r is in row r // filters and column r % filters. It
    holds the weights between the channels of x that the ranks of its row have, its `channel_peers`, and the filters of
    y that the ranks of its column have, its `filter_peers`.
    """

    ways: Ways
    channel_peers: tuple[int, ...]
    filter_peers: tuple[int, ...]
    among_channel_peers: Group
    among_filter_peers: Group


class ProcessGrid:
    """The ranks of a communicator as `samples` x `channels`: each row holds some samples, each column some channels.

    Rank r is at row `sample` = r // channels and column `channel` = r % channels, so that those who send most are
    neighbours. `among_channels` are the ranks of this one's row, `among_samples` those of its column. Collectives
    are MPI's where `device` is the CPU, and NCCL's where it is a GPU. Making one is collective over `comm`, and so is
    `placement` when it is first asked for an algorithm.

    Raises:
        GridError: `samples` does not divide the number of ranks, or ranks share a GPU.
    """

    def __init__(self, comm: MPI.Comm, samples: int = 1, device: torch.device | None = None) -> None:
        if samples < 1 or comm.size % samples:
            fitting = ", ".join(map(str, divisors(comm.size)))
            raise GridError(f"samples: is {samples}, which does not divide {comm.size} ranks", f"use one of {fitting}")
        self.device = device or torch.device("cpu")
        self.samples, self.channels = samples, comm.size // samples
        self.sample, self.channel = divmod(comm.rank, self.channels)
        self.traffic = Traffic()
        self.comm = comm.Dup()
        self._communicators = [self.comm]
        self._groups_of_torch: list[distributed.ProcessGroup] = []
        if self.device.type != "cpu":
            if problem := why_not_nccl(comm, self.device):
                raise GridError(
                    f"device: every rank of a grid needs a GPU of its own, and {problem}", "use fewer ranks"
                )
            NcclGroup(comm, self.device, "auto")
        rows = [[row * self.channels + column for column in range(self.channels)] for row in range(samples)]
        self.among_channels = self._group(rows)
        self.among_samples = self._group([list(column) for column in zip(*rows, strict=True)])
        self._placements: dict[Ways, Placement] = {}

    def parts(self, channels: int) -> Parts:
        """How so many channels are cut among the columns."""
        return Parts.of(channels, self.channels)

    def samples_before(self, own: int) -> tuple[int, int]:
        """How many samples earlier rows have, and all rows together, where this one has `own`. Collective."""
        counts = cast("list[int]", self.comm.allgather(own))[:: self.channels]
        return sum(counts[: self.sample]), sum(counts)

    def placement(self, algorithm: Algorithm, filters: int | None = None) -> Placement:
        """Where an algorithm has its weights; `filters` and the errors are those of `ways_of`."""
        ways = ways_of(algorithm, self.channels, filters)
        if ways not in self._placements:
            self._placements[ways] = self._place(ways)
        return self._placements[ways]

    def free(self) -> None:
        """Give back the communicators, of which an MPI has only so many, and torch's process groups. Collective.

        The process group of all ranks stays: a process has one, and other grids and exchanges use it.
        """
        for communicator in self._communicators:
            communicator.Free()
        self._communicators.clear()
        for group in self._groups_of_torch:
            distributed.destroy_process_group(group)
        self._groups_of_torch.clear()

    def _place(self, ways: Ways) -> Placement:
        rows = [[row * ways.filters + column for column in range(ways.filters)] for row in range(ways.channels)]
        columns = [list(column) for column in zip(*rows, strict=True)]
        return Placement(
            ways,
            tuple(rows[self.channel // ways.filters]),
            tuple(columns[self.channel % ways.filters]),
            self._group(self._in_each_row(rows)),
            self._group(self._in_each_row(columns)),
        )

    def _in_each_row(self, columns: Sequence[Sequence[int]]) -> list[list[int]]:
        return [[row * self.channels + one for one in some] for row in range(self.samples) for some in columns]

    def _group(self, partition: Sequence[Sequence[int]]) -> Group:
        """Of groups that all ranks are in, the one that this rank is in."""
        return (self._group_of_mpi if self.device.type == "cpu" else self._group_of_torch)(partition)

    def _group_of_mpi(self, partition: Sequence[Sequence[int]]) -> Group:
        self._communicators.append(self.comm.Split(self._number(partition), self.comm.rank))
        return MpiGroup(self._communicators[-1], self.traffic)

    def _group_of_torch(self, partition: Sequence[Sequence[int]]) -> Group:
        groups = [distributed.new_group(list(ranks)) for ranks in partition]
        self._groups_of_torch.append(groups[self._number(partition)])
        return TorchGroup(self._groups_of_torch[-1], self.traffic)

    def _number(self, partition: Sequence[Sequence[int]]) -> int:
        return next(number for number, ranks in enumerate(partition) if self.comm.rank in ranks)
