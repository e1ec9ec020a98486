"""This machine measured by a real MPI job, and what keeps it from that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.channel_parallel import ConvolutionShape, Ways
from engine.channel_parallel.choice import parts_of
from engine.channel_parallel.machine import COLLECTIVES, Part
from sweeper.errors import LaunchError
from sweeper.gangs.machine import usable_cpus
from sweeper.gangs.measuring import measure
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Seats
from tests.sweeper.gangs.test_wrong_launcher import use

LAYERS = {
    "a": ConvolutionShape(2, 4, 6, (3, 3), (8, 8), (6, 6)),
    "b": ConvolutionShape(2, 6, 4, (1, 1), (6, 6), (6, 6)),
}
RANKS = min(2, usable_cpus())


def test_parts_and_collectives_are_measured_and_the_cores_given_back() -> None:
    parts = parts_of(LAYERS, RANKS)
    found = measure(parts, RANKS, links=RANKS > 1)
    assert list(found.parts) == parts
    assert min(found.parts.values()) > 0
    assert tuple(found.links) == (COLLECTIVES if RANKS > 1 else ())
    assert all(link.bytes_per_s > 0 and link.ranks == RANKS for link in found.links.values())
    assert measure([], 1, links=False).links == {}


def test_cores_that_another_has_are_not_measured_on() -> None:
    others = SeatLocks.of_this_machine()
    taken = others.take(Seats(usable_cpus(), 0))
    assert taken is not None
    if not taken.cores:
        pytest.skip("cores are not told apart here")
    try:
        with pytest.raises(LaunchError, match="1 cores to measure on are not free") as raised:
            measure([], 1, links=False)
    finally:
        others.give_back(taken)
    assert "--latency" in raised.value.remedy


def test_ranks_that_do_not_know_of_each_other_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(tmp_path, monkeypatch)
    with pytest.raises(LaunchError, match="in separate worlds of one rank"):
        measure([], RANKS, links=False)


def test_a_rank_that_fails_is_told_with_its_error() -> None:
    wrong = replace(LAYERS["a"], output_size=(9, 9))
    with pytest.raises(LaunchError, match=r"the ranks that measure this machine failed: RuntimeError: ") as raised:
        measure([Part(wrong, Ways(1, 1))], 1, links=False)
    assert "sweeper doctor" in raised.value.remedy
