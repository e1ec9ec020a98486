"""Grids of as many trials as a sweep may have: the command that runs one keeps few of them in memory."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from sweeper.plan import MAXIMUM_TRIALS
from tests.processes import eventually
from tests.sweeper.cli.commands import begin, number

SPEC = """
name: large
trial: {model: mlp, data: synthetic, images: 1024}
space:
  learning_rate: {low: 0.0001, high: 0.5, step: 0.0001}
  batch_size: [8, 16, 32, 64]
  momentum: [0.0, 0.3, 0.6, 0.9, 0.95]
  workers: [1]
"""
MOST_MB = 200


def peak_mb(process: int) -> float:
    """The most memory that a process has had resident."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def test_a_grid_of_the_most_trials_begins_in_little_memory(tmp_path: Path, spec: Path) -> None:
    process = begin("run", str(spec), "--executor", "local")
    assert eventually(lambda: bool(number(tmp_path, "SELECT count(*) FROM attempt")), 120)
    assert peak_mb(process.pid) < MOST_MB
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    with closing(sqlite3.connect(tmp_path / "sweeper.db")) as connection:
        assert connection.execute("SELECT state, count(*) FROM trial GROUP BY state").fetchall() == [
            ("pending", MAXIMUM_TRIALS)
        ]
        begun = connection.execute("SELECT position FROM trial WHERE attempt > 0 ORDER BY position").fetchall()
    assert begun == [(position,) for position in range(len(begun))]


def test_a_sweep_that_is_killed_while_it_is_recorded_leaves_nothing(tmp_path: Path, spec: Path) -> None:
    process = begin("run", str(spec), "--executor", "local")
    written = tmp_path / "sweeper.db-wal"
    assert eventually(lambda: written.exists() and written.stat().st_size > 10_000_000, 120)
    assert number(tmp_path, "SELECT count(*) FROM sweep") == 0, "nobody sees a part of it"
    process.kill()
    process.communicate()
    assert number(tmp_path, "SELECT count(*) FROM sweep") == number(tmp_path, "SELECT count(*) FROM trial") == 0
