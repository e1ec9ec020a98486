"""Cores are handed out once a machine, whoever asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cores import VARIABLE, bind
from sweeper.gangs.cores import CorePool, usable_cores


def test_no_core_is_given_twice_also_not_by_another_pool(tmp_path: Path) -> None:
    ours, theirs = (CorePool([0, 1, 2, 3], tmp_path / "cores") for _ in range(2))
    assert ours.take(2) == (0, 1)
    assert theirs.take(1) == (2,)
    assert ours.take(2) == ()  # and the one that was free is not kept
    assert theirs.take(1) == (3,)
    ours.give_back((0, 1))
    assert theirs.take(2) == (0, 1)


def test_a_process_that_is_killed_holds_no_core(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from sweeper.gangs.cores import CorePool
assert CorePool([5], Path({str(tmp_path)!r})).take(1) == (5,)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    assert CorePool([5], tmp_path).take(1) == (5,)


def test_a_folder_that_cannot_be_used_means_no_cores(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert CorePool([0], tmp_path / "file").take(1) == ()
    (tmp_path / "0.lock").symlink_to(tmp_path / "elsewhere")
    assert CorePool([0], tmp_path).take(1) == ()
    assert not (tmp_path / "elsewhere").exists()


def test_a_rank_is_bound_to_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    cores = usable_cores()
    monkeypatch.setenv(VARIABLE, ",".join(map(str, cores)))
    try:
        bind(len(cores) - 1, len(cores))
        assert os.sched_getaffinity(0) == {cores[-1]}
        monkeypatch.delenv(VARIABLE)
        bind(0, 1)
        assert os.sched_getaffinity(0) == {cores[-1]}
    finally:
        os.sched_setaffinity(0, before)
