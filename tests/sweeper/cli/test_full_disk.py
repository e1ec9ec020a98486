"""The store's disk takes no more while a sweep runs: a clear end, whole batches, and a sweep that goes on later."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes import eventually
from tests.sweeper.cli.commands import begin, number, others, rows

SPEC = """
name: large
trial: {model: neuron, data: step-function, images: 24000, points: 6000}
space: {batch_size: [4, 8], workers: [1]}
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]).returncode:
        pytest.skip("a small file system needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(disk: Path, spec: Path, tmp_path: Path) -> None:
    ballast = disk / "ballast"

    def fill(_process: subprocess.Popen[str]) -> None:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    end_for_want_of_room(fill, disk, spec, tmp_path, "database or disk is full; make room on its disk")
    again = begin("resume", "large", "--store", f"sqlite:///{disk}/sweeper.db", "--executor", "local")
    _, err = again.communicate(timeout=60)
    assert (again.returncode, "database or disk is full" in err) == (1, True), err
    ballast.unlink()
    goes_on(disk, tmp_path)


@pytest.mark.long
def test_a_file_that_may_not_grow(spec: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()

    def limit(process: subprocess.Popen[str]) -> None:
        size = (disk / "sweeper.db-wal").stat().st_size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))

    end_for_want_of_room(limit, disk, spec, tmp_path, "disk I/O error; check the disk")
    goes_on(disk, tmp_path)


def end_for_want_of_room(
    starve: Callable[[subprocess.Popen[str]], None], disk: Path, spec: Path, tmp_path: Path, expected: str
) -> None:
    """Run until points are in the store, then `starve` it: one error, no process, no half batch."""
    process = begin("run", str(spec), "--store", f"sqlite:///{disk}/sweeper.db", "--executor", "local")
    assert eventually(lambda: bool(number(disk, "SELECT count(*) FROM loss_point")), 90)
    starve(process)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert err.splitlines()[-1].startswith(f"error: store sqlite:///{disk}/sweeper.db: {expected}"), err
    assert len([line for line in err.splitlines() if "store" in line]) <= 2, err
    assert "Traceback" not in err
    assert eventually(lambda: not others(tmp_path))
    assert rows(disk, "PRAGMA integrity_check") == [("ok",)]
    for count, first, last in rows(disk, "SELECT count(*), min(step), max(step) FROM loss_point GROUP BY trial_id"):
        assert (first, last) == (1, count), "each step has its point, up to the last that was recorded"


def goes_on(disk: Path, tmp_path: Path) -> None:
    """What was running is run again by `resume`, to its end."""
    before = rows(disk, "SELECT trial_id, count(*) FROM loss_point WHERE attempt = 1 GROUP BY trial_id")
    again = begin("resume", "large", "--store", f"sqlite:///{disk}/sweeper.db", "--executor", "local")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert rows(disk, "SELECT DISTINCT state FROM trial") == [("completed",)]
    assert {s for (s,) in rows(disk, "SELECT state FROM attempt WHERE number = 1")} == {"interrupted"}
    assert rows(disk, "SELECT trial_id, count(*) FROM loss_point WHERE attempt = 1 GROUP BY trial_id") == before
    curves = "SELECT max(step) = count(*) AND count(*) = trial.points FROM loss_point JOIN trial ON trial_id = trial.id"
    assert rows(disk, f"{curves} WHERE loss_point.attempt = trial.attempt GROUP BY trial_id") == [(1,), (1,)]
    assert eventually(lambda: not others(tmp_path))
