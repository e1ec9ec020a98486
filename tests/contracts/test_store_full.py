"""PostgreSQL on a disk that is full: the batch is refused as a whole, and goes in when there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from sweeper.errors import StoreError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import open_store
from tests.contracts.databases import postgres_server

BATCH = 1000


@contextmanager
def small_disk(folder: Path, owner: int) -> Iterator[None]:
    """A file system of a megabyte at a new folder, for as long as the block lasts."""
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", folder]).returncode:
        pytest.skip("a small file system needs the right to mount one")
    os.chown(folder, owner, -1)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def batch(number: int) -> list[LossPoint]:
    return [LossPoint(step, step, step / 7, 1 / step) for step in range(number * BATCH + 1, (number + 1) * BATCH + 1)]


def test_a_full_disk_refuses_a_batch_as_a_whole() -> None:
    with postgres_server() as server:
        disk = server.folder.parent / "disk"
        with small_disk(disk, server.folder.stat().st_uid):
            store = open_store(server.url)
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
                connection.execute("ALTER TABLE loss_point SET TABLESPACE small")
            spec = parse_spec({"name": "large", "space": {"batch_size": [16]}})
            sweep = store.sweeps.add(spec, plan(spec))
            (trial,) = [trial.id for trial in store.trials.of(sweep)]
            store.attempts.claim(trial)
            points: list[LossPoint] = []

            def fill() -> None:
                for number in range(100):
                    store.attempts.add_points(trial, 1, batch(number))
                    points.extend(batch(number))

            with pytest.raises(StoreError, match="make room on its disk"):
                fill()
            assert points
            assert store.attempts.points(trial) == points
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            refused = batch(len(points) // BATCH)
            store.attempts.add_points(trial, 1, refused)
            points += refused
            store.attempts.finish(trial, 1, TrialState.COMPLETED, summarize(points))
            assert store.attempts.points(trial) == points
            store.close()
            server.stop()
        shutil.rmtree(disk)
