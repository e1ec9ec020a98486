"""The queue of the threads that write to one file."""

from __future__ import annotations

import signal
import threading
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from sweeper.store.turns import Turns, turns_of
from tests.processes import eventually


def waits(turns: Turns, number: int) -> bool:
    return turns.waiting == number


def test_turns_come_in_the_order_in_which_they_were_asked_for() -> None:
    turns, order = Turns(), list[int]()

    def take(number: int) -> None:
        with turns.turn():
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with turns.turn():
        for number, thread in enumerate(threads):
            thread.start()
            assert eventually(partial(waits, turns, number + 1))
        assert order == []
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_an_error_passes_the_turn_on() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="no"), turns.turn():
        raise ValueError("no")
    with turns.turn():
        assert turns.waiting == 0


def test_who_is_interrupted_while_waiting_leaves_the_queue() -> None:
    turns, ready, may_go = Turns(), threading.Event(), threading.Event()

    def hold() -> None:
        with turns.turn():
            ready.set()
            may_go.wait()

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt), turns.turn():
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
    assert turns.waiting == 0
    may_go.set()
    holder.join()
    with turns.turn():
        assert turns.waiting == 0


def test_a_file_has_one_queue_by_whatever_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert turns_of(tmp_path / "a.db") is turns_of(tmp_path / "link" / "a.db")
    one, other = turns_of(tmp_path / "a.db"), turns_of(tmp_path / "b.db")
    assert one is not other
