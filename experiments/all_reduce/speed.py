"""What is measured of a sum over ranks, and the bandwidths that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from engine.config import Algorithm
from engine.errors import ClearError

NCCL: Mapping[str, Algorithm] = {"nccl": "auto", "nccl-ring": "ring", "nccl-tree": "tree"}


class WrongSumError(ClearError):
    """A sum over ranks is not the sum."""

    kind = "exchange"

    def __init__(self, method: str, size: int, ranks: Sequence[int]) -> None:
        super().__init__(
            f"{method}: the sum of {size} bytes is wrong on rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}",
            "run `sweeper doctor`, and report it with the versions of MPI and NCCL",
        )


@dataclass(frozen=True)
class Speed:
    """One message's sum over so many ranks at a place, by a method; `rounds` are seconds.

    Bandwidths are NCCL's two: the algorithm's is the message's bytes over the seconds of its sum. The bus's is that
    times 2 (n - 1) / n, which is what each of n ranks has to send at least (Patarasuk and Yuan, 2009), so that it can
    be held against what a link carries, whatever the number of ranks.
    """

    place: str
    method: str
    workers: int
    size: int
    rounds: tuple[float, ...]
    shared: bool

    @property
    def seconds(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)

    @property
    def algorithm_bandwidth(self) -> float:
        """Bytes a second."""
        return self.size / self.seconds

    @property
    def bus_bandwidth(self) -> float:
        """Bytes a second."""
        return self.algorithm_bandwidth * 2 * (self.workers - 1) / self.workers


def speed_of(place: str, row: Mapping[str, Any]) -> Speed:
    """A recorded row as a speed."""
    return Speed(place, row["method"], row["workers"], row["bytes"], tuple(row["rounds"]), row["oversubscribed"])
