"""Who holds how many of the cores and GPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.gangs.seats import Capacity, Growth, SeatLedger, Seats, Shape

HOLDINGS = st.dictionaries(st.text(max_size=2), st.builds(Seats, st.integers(0, 9), st.integers(0, 9)))


def test_what_is_held_is_not_free_until_it_is_released() -> None:
    ledger = SeatLedger(Capacity((Seats(4, 1), Seats(4, 1))))
    ledger.hold("a", Seats(3, 2))
    assert ledger.free == Seats(5, 0)
    assert ledger.has_room(Seats(5))
    assert not ledger.has_room(Seats(1, 1))
    ledger.hold("a", Seats(1))
    assert ledger.free == Seats(7, 2)
    ledger.release("a")
    ledger.release("a")
    assert ledger.free == Seats(8, 2)


def test_capacity_may_shrink_under_its_holders() -> None:
    ledger = SeatLedger(Capacity((Seats(4), Seats(4))))
    ledger.hold("a", Seats(6))
    ledger.capacity = Capacity((Seats(4),))
    assert ledger.free == Seats(-2)
    assert not ledger.has_room(Seats(1))


@pytest.mark.parametrize(
    ("shape", "hosts", "shares"),
    [
        ((3, 1, 0), [Seats(4)], [3]),
        ((3, 1, 0), [Seats(2), Seats(4)], [3]),
        ((6, 1, 0), [Seats(2), Seats(1), Seats(4)], [4, 2]),
        ((3, 2, 0), [Seats(3), Seats(3), Seats(1), Seats(2)], [1, 1, 1]),
        ((3, 1, 1), [Seats(8, 2), Seats(16), Seats(1, 4)], [2, 1]),
        ((5, 1, 0), [Seats(2), Seats(2)], []),
        ((3, 2, 0), [Seats(3), Seats(3)], []),
        ((1, 1, 0), [], []),
    ],
)
def test_a_gang_takes_as_few_hosts_as_can_be(shape: Shape, hosts: list[Seats], shares: list[int]) -> None:
    capacity = Capacity(tuple(hosts))
    assert capacity.shares(shape) == shares
    assert capacity.can_ever_seat(shape) == bool(shares)


@given(HOLDINGS)
def test_all_that_is_released_is_free_again(holdings: dict[str, Seats]) -> None:
    ledger = SeatLedger(Capacity((Seats(10, 2),)))
    for holder, seats in holdings.items():
        ledger.hold(holder, seats)
    assert ledger.free == Seats(10, 2) - sum(holdings.values(), Seats(0))
    for holder in holdings:
        ledger.release(holder)
    assert ledger.free == Seats(10, 2)


def test_spread_ranks_take_as_many_hosts_as_can_be() -> None:
    hosts = Capacity((Seats(4), Seats(1), Seats(2)))
    assert hosts.shares((3, 1, 0), spread=True) == [1, 1, 1]
    assert hosts.shares((6, 1, 0), spread=True) == [3, 2, 1]
    assert hosts.shares((2, 2, 0), spread=True) == [1, 1]
    assert hosts.shares((3, 2, 0), spread=True) == [2, 1]
    assert hosts.shares((8, 1, 0), spread=True) == []


def test_hosts_that_are_apart_seat_a_gang_each() -> None:
    hosts = Capacity((Seats(4), Seats(2)), apart=True)
    assert hosts.can_ever_seat((4, 1, 0))
    assert not hosts.can_ever_seat((5, 1, 0))
    assert Capacity(hosts.hosts).can_ever_seat((6, 1, 0))


@pytest.mark.parametrize(
    ("text", "growth"),
    [("8x16", Growth(8, Seats(16))), ("2X4x1", Growth(2, Seats(4, 1))), ("1x1x0", Growth(1, Seats(1)))],
)
def test_the_size_of_a_cluster_is_read(text: str, growth: Growth) -> None:
    assert Growth.parse(text) == growth
    assert Growth.parse(str(growth)) == growth


@pytest.mark.parametrize("text", ["", "8", "x", "8x", "0x4", "2x0", "2x4x-1", "2x4x1x1", "2.5x4", "two"])
def test_other_words_are_no_size_of_a_cluster(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        Growth.parse(text)


def test_hosts_to_come_fill_a_cluster_up() -> None:
    growth = Growth(3, Seats(4))
    assert Capacity(()).grown(growth) == Capacity((Seats(4),) * 3)
    assert Capacity((Seats(0), Seats(8))).grown(growth) == Capacity((Seats(8), Seats(4), Seats(4)))
    full = Capacity((Seats(2),) * 4)
    assert full.grown(growth) is full
    assert full.grown(None) is full
