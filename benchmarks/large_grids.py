"""How soon a large grid begins: from the start of `sweeper run` to the first claim, and with how much memory."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.measure import Row, alone, versions

_LOOK_S = 0.005
_SPEC = """
name: large
trial: {{model: mlp, data: synthetic, images: 1024}}
space:
  learning_rate: {{low: 0.0001, high: {high}, step: 0.0001}}
  batch_size: [8, 16, 32, 64]
  momentum: [0.0, 0.3, 0.6, 0.9, 0.95]
  workers: [1]
"""
_RATES_TIMES = 20  # settings of each rate


def first_claim(trials: int) -> tuple[float, float]:
    """Seconds until the first trial of so many is claimed, and the command's peak memory by then, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "large.yaml"
        spec.write_text(_SPEC.format(high=f"{trials // _RATES_TIMES / 10_000:.4f}"))
        command = [sys.executable, "-m", "sweeper.cli", "run", str(spec), "--executor", "local"]
        begun = time.perf_counter()
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "SWEEPER_STORE": f"sqlite:///{folder}/sweeper.db"}
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet) as process:
            while process.poll() is None and not _has_claimed(Path(folder) / "sweeper.db"):
                time.sleep(_LOOK_S)
            seconds = time.perf_counter() - begun
            peak = _peak_mb(process.pid)
            process.send_signal(signal.SIGINT)
    return seconds, peak


def rows(trials: int, n: int) -> Iterator[Row]:
    """Both, of a grid of so many trials."""
    peaks: list[float] = []

    def seconds() -> float:
        found, peak = first_claim(trials)
        peaks.append(peak)
        return found

    used = versions("sqlalchemy", "pydantic")
    yield alone(f"first claim of a grid of {trials} trials", "s", seconds, n, used)
    remembered = iter(peaks)
    yield alone(f"peak memory until then, {trials} trials", "MB", lambda: next(remembered), n, used)


def _has_claimed(file: Path) -> bool:
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("SELECT count(*) FROM attempt").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return False


def _peak_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
