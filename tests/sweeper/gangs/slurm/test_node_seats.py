"""Gangs are packed on nodes, wait for room on one, and wait no longer than they are wanted."""

from __future__ import annotations

import threading

from sweeper.gangs.seats import Capacity, Seats
from sweeper.gangs.slurm.node_seats import NodeSeats
from sweeper.gangs.slurm.own_job import Node


def always() -> bool:
    return True


def test_the_capacity_is_that_of_each_node() -> None:
    assert NodeSeats([Node("a", 4, 1), Node("b", 8, 0)]).capacity == Capacity((Seats(4, 1), Seats(8, 0)), apart=True)


def test_the_fullest_node_with_room_is_taken() -> None:
    seats = NodeSeats([Node("a", 4, 0), Node("b", 4, 0)])
    assert [seats.take(number, Seats(1), always) for number in range(3)] == ["a", "a", "a"]
    assert seats.take("large", Seats(4), always) == "b"
    assert seats.take("small", Seats(1), always) == "a"


def test_gpus_are_kept_for_those_who_need_them() -> None:
    seats = NodeSeats([Node("gpu", 4, 4), Node("cpu", 8, 0)])
    assert seats.take("no GPU", Seats(2), always) == "cpu"
    assert seats.take("two GPUs", Seats(2, 2), always) == "gpu"


def test_a_gang_waits_until_a_node_has_room() -> None:
    seats = NodeSeats([Node("a", 2, 0), Node("b", 2, 0)])
    for holder in ("one", "two"):
        seats.take(holder, Seats(1), always)
    seats.take("three", Seats(2), always)
    found: list[str | None] = []
    waiting = threading.Thread(target=lambda: found.append(seats.take("late", Seats(2), always)))
    waiting.start()
    seats.give_back("one")  # which is too little, though a core is free
    seats.give_back("two")
    waiting.join(20)
    assert found == ["a"]


def test_what_is_not_wanted_waits_no_longer() -> None:
    seats = NodeSeats([Node("a", 1, 0)])
    seats.take("first", Seats(1), always)
    wanted = iter([True, True])
    assert seats.take("second", Seats(1), lambda: next(wanted, False)) is None
    seats.give_back("first")
    assert seats.take("third", Seats(1), always) == "a"
