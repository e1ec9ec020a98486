"""Cores and GPUs are handed out once a machine, whoever asks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.cores import VARIABLE, bind
from sweeper.gangs.seat_locks import SeatLocks, TakenSeats
from sweeper.gangs.seats import Seats


def pool(folder: Path, cores: int = 4, gpus: tuple[str, ...] = ()) -> SeatLocks:
    return SeatLocks(range(cores), gpus, {}, folder)


def given(taken: TakenSeats | None) -> tuple[int, ...]:
    assert taken is not None
    return taken.cores


def test_no_core_is_given_twice_also_not_by_another_pool(tmp_path: Path) -> None:
    ours, theirs = (pool(tmp_path / "seats") for _ in range(2))
    first = ours.take(Seats(2))
    assert given(first) == (0, 1)
    assert given(theirs.take(Seats(1))) == (2,)
    assert ours.take(Seats(2)) is None  # and the one that was free is not kept
    assert given(theirs.take(Seats(1))) == (3,)
    assert first
    ours.give_back(first)
    assert given(theirs.take(Seats(2))) == (0, 1)


def test_who_may_share_waits_for_nobody(tmp_path: Path) -> None:
    ours, theirs = (pool(tmp_path, 2, ("0",)) for _ in range(2))
    assert theirs.take(Seats(1, 1))
    assert ours.take(Seats(2, 1)) is None
    taken = ours.take(Seats(2, 1), share=True)
    assert taken is not None
    assert (taken.cores, taken.gpus, taken.locked, taken.shared) == ((), ("0",), (), True)
    ours.give_back(taken)
    assert theirs.take(Seats(1)) == TakenSeats((1,), (), ("core-1",))


def test_whoever_is_shared_with_can_tell_during_it_and_after(tmp_path: Path) -> None:
    ours, theirs = (pool(tmp_path, 2) for _ in range(2))
    since = time.time()
    mine = ours.take(Seats(2))
    assert mine is not None
    assert not ours.was_shared(mine, since)
    guest = theirs.take(Seats(1), share=True)
    assert guest is not None
    assert guest.shared
    assert ours.was_shared(mine, since)
    assert ours.was_shared(mine, time.time() + 60)  # it is there still
    theirs.give_back(guest)
    assert ours.was_shared(mine, since)
    assert not ours.was_shared(mine, time.time() + 60)


def test_more_gangs_than_cores_of_ones_own_sit_anywhere_and_share(tmp_path: Path) -> None:
    ours = pool(tmp_path, 2)
    assert given(ours.take(Seats(2))) == (0, 1)
    taken = ours.take(Seats(2))
    assert taken is not None
    assert (taken.cores, taken.locked, taken.shared) == ((), (), True)
    assert SeatLocks((), None, {}, tmp_path).take(Seats(2)) == TakenSeats()  # whose cores nobody knows


def test_a_gpu_is_the_same_by_any_name(tmp_path: Path) -> None:
    ours = SeatLocks((), ["0", "1"], {"0": "GPU-a", "1": "GPU-b"}, tmp_path)
    theirs = SeatLocks((), ["GPU-b", "GPU-a"], {}, tmp_path)
    first = ours.take(Seats(0, 1))
    assert first is not None
    assert first.gpus == ("0",)
    assert theirs.take(Seats(0, 2)) is None
    second = theirs.take(Seats(0, 1))
    assert second is not None
    assert second.gpus == ("GPU-b",)


def test_what_others_have_is_told_with_who_they_are(tmp_path: Path) -> None:
    script = f"""
import sys
import time
from pathlib import Path
from sweeper.gangs.seats import Seats
from sweeper.gangs.seat_locks import SeatLocks
pool = SeatLocks([0, 1], None, None, Path({str(tmp_path)!r}))
assert pool.take(Seats(1))
print("taken", flush=True)
sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline()
    ours = pool(tmp_path, 2)
    assert given(ours.take(Seats(1))) == (1,)
    assert ours.holders() == [other.pid]
    other.communicate(timeout=20)
    assert ours.holders() == []


def test_a_process_that_is_killed_holds_no_core(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from sweeper.gangs.seats import Seats
from sweeper.gangs.seat_locks import SeatLocks
assert SeatLocks([5], None, None, Path({str(tmp_path)!r})).take(Seats(1)).cores == (5,)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    assert given(SeatLocks([5], None, None, tmp_path).take(Seats(1))) == (5,)


def test_a_folder_that_cannot_be_used_means_no_cores(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert pool(tmp_path / "file", 1).take(Seats(1)) == TakenSeats((), (), ())
    (tmp_path / "core-0.lock").symlink_to(tmp_path / "elsewhere")
    assert pool(tmp_path, 1).take(Seats(1)) == TakenSeats((), (), ())
    assert not (tmp_path / "elsewhere").exists()


def test_a_rank_is_bound_to_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    cores = sorted(before)
    monkeypatch.setenv(VARIABLE, ",".join(map(str, cores)))
    try:
        bind(len(cores) - 1, len(cores))
        assert os.sched_getaffinity(0) == {cores[-1]}
        monkeypatch.delenv(VARIABLE)
        bind(0, 1)
        assert os.sched_getaffinity(0) == {cores[-1]}
    finally:
        os.sched_setaffinity(0, before)
