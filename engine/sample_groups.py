"""Who trains on which samples: ranks that share layers have the same, and all others samples of their own."""

from __future__ import annotations

from dataclasses import dataclass

from engine.data.shards import share


@dataclass(frozen=True)
class SampleGroup:
    """The group of ranks that this rank has its samples with: number `number` of `groups`; `first` for one of them.

    Sums over samples count those of each group once, at its first rank. Ranks of a group of several share layers.
    """

    number: int
    groups: int
    first: bool = True
    shares_layers: bool = False

    @classmethod
    def of(cls, rank: int, ranks: int, channels: int) -> SampleGroup:
        """Groups of `channels` neighbouring ranks, which divide `ranks`; with one, each rank is a group of its own."""
        number, place = divmod(rank, channels)
        return cls(number, ranks // channels, place == 0, channels > 1)

    def share(self, start: int, stop: int) -> tuple[int, int]:
        """First and end of this group's samples of [start, stop)."""
        return share(start, stop, self.number, self.groups)
