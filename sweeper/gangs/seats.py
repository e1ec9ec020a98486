"""Seats: cores and GPUs. How many there are, and who holds how many of them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Shape: TypeAlias = tuple[int, int, int]  # workers, cores and GPUs of each


@dataclass(frozen=True)
class Seats:
    """Cores and GPUs."""

    cpus: int
    gpus: int = 0

    def fits(self, free: Seats) -> bool:
        """Whether `free` seats are enough."""
        return self.cpus <= free.cpus and self.gpus <= free.gpus

    def room(self, shape: Shape) -> int:
        """How many ranks of a gang these are enough for."""
        _, cpus, gpus = shape
        return min(self.cpus // cpus, self.gpus // gpus if gpus else self.cpus // cpus)

    def __add__(self, other: Seats) -> Seats:
        return Seats(self.cpus + other.cpus, self.gpus + other.gpus)

    def __sub__(self, other: Seats) -> Seats:
        return Seats(self.cpus - other.cpus, self.gpus - other.gpus)


@dataclass(frozen=True)
class Growth:
    """How far a cluster may grow: to so many hosts, those to come with so many seats `each`."""

    hosts: int
    each: Seats

    @classmethod
    def parse(cls, text: str) -> Growth:
        """From HOSTSxCPUS or HOSTSxCPUSxGPUS, for example 8x16x4; raises ValueError for anything else."""
        hosts, cpus, *gpus = map(int, text.lower().split("x"))
        if hosts < 1 or cpus < 1 or gpus[1:] or min(gpus, default=0) < 0:
            raise ValueError(text)
        return cls(hosts, Seats(cpus, *gpus))

    def __str__(self) -> str:
        return "x".join(map(str, (self.hosts, self.each.cpus, *([self.each.gpus] if self.each.gpus else []))))


@dataclass(frozen=True)
class Capacity:
    """Cores and GPUs that gangs may use; `hosts` has one entry a host, since a rank must fit on one.

    Where hosts are `apart`, all ranks of a gang must.
    """

    hosts: tuple[Seats, ...]
    apart: bool = False

    @cached_property
    def total(self) -> Seats:
        """All hosts together."""
        return sum(self.hosts, Seats(0))

    def grown(self, growth: Growth | None) -> Capacity:
        """With the hosts that are still to come."""
        there = tuple(host for host in self.hosts if host.cpus)
        coming = (growth.each,) * (growth.hosts - len(there)) if growth else ()
        return Capacity((*there, *coming), self.apart) if coming else self

    @property
    def scattered(self) -> bool:
        """Whether free seats may lie on several hosts, so that only a host with enough of them helps a gang."""
        return len(self.hosts) > 1

    def can_ever_seat(self, shape: Shape) -> bool:
        """Whether the hosts are large enough for a gang when they are empty."""
        return shape[0] <= self.room(shape)

    def room(self, shape: Shape) -> int:
        """How many workers, with the cores and GPUs of each, the largest gang on the empty hosts can have."""
        rooms = [host.room(shape) for host in self.hosts]
        return max(rooms, default=0) if self.apart else sum(rooms)

    def shares(self, shape: Shape, *, spread: bool = False) -> list[int]:
        """The ranks of a gang on each host that it takes, most first; [] if they do not fit on the empty hosts.

        Of hosts there are as few as can be, where the first ones have as many ranks as they can; or with `spread` as
        many as can be, with about as many ranks on each.
        """
        return self._spread(shape) if spread else self._packed(shape)

    def _spread(self, shape: Shape) -> list[int]:
        rooms = [host.room(shape) for host in self.hosts]
        shares = [0] * len(rooms)
        for _ in range(shape[0]):
            free = [number for number, room in enumerate(rooms) if shares[number] < room]
            if not free:
                return []
            shares[min(free, key=lambda number: (shares[number], -rooms[number]))] += 1
        return sorted(filter(None, shares), reverse=True)

    def _packed(self, shape: Shape) -> list[int]:
        shares, left = [], shape[0]
        for room in sorted((host.room(shape) for host in self.hosts), reverse=True):
            if left and room:
                shares.append(min(room, left))
                left -= shares[-1]
        return shares if not left else []

    def most_of(self, need: Seats) -> Seats | None:
        """As much of `need` as one host has; None where none has any core, or any GPU for those who need one."""
        given = [Seats(min(need.cpus, host.cpus), min(need.gpus, host.gpus)) for host in self.hosts]
        usable = [seats for seats in given if seats.cpus and bool(seats.gpus) == bool(need.gpus)]
        return max(usable, key=lambda seats: (seats.gpus, seats.cpus), default=None)


def seats_of(workers: int, cpus_per_worker: int, gpus_per_worker: int) -> Seats:
    """What a gang of so many workers takes."""
    return Seats(workers * cpus_per_worker, workers * gpus_per_worker)


class SeatLedger:
    """Who holds how many seats. It counts and refuses nothing: its users ask what is free before they hold seats.

    `capacity` may change while seats are held, for example when a node leaves a cluster.
    """

    def __init__(self, capacity: Capacity) -> None:
        self.capacity = capacity
        self._held: dict[Hashable, Seats] = {}
        self._taken = Seats(0)  # the sum of these: a scheduler asks for it once for each trial that waits

    @property
    def free(self) -> Seats:
        """What nobody holds; below zero where capacity has shrunk under its holders."""
        return self.capacity.total - self._taken

    @property
    def is_held(self) -> bool:
        """Whether anybody holds seats."""
        return bool(self._held)

    def has_room(self, need: Seats) -> bool:
        """Whether so many seats are free, on all hosts together."""
        return need.fits(self.free)

    def hold(self, holder: Hashable, seats: Seats) -> None:
        """Seats for a holder, in place of those that it holds."""
        self.release(holder)
        self._held[holder] = seats
        self._taken += seats

    def release(self, holder: Hashable) -> None:
        """All seats of a holder, if it holds any."""
        self._taken -= self._held.pop(holder, Seats(0))
