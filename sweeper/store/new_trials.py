"""New trials: recorded in bulk, as they come, so that no more than a batch of them is ever in memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from sweeper.plan import WrittenTrial
from sweeper.plan.trial import TrialState
from sweeper.store import tables

_BATCH = 1000
# What every trial begins with; the columns that are not named here and below are empty.
_ALIKE: dict[str, Any] = {"state": TrialState.PENDING.value}
_ALIKE |= {one.name: one.default.arg for one in tables.trial.c if isinstance(one.default, ScalarElementColumnDefault)}
_OWN = ("id", "sweep_id", "position", "workers", "parameters", "config", "resources")
_COLUMNS = ", ".join((*_OWN, *_ALIKE))


def trial_id(sweep_id: str, key: str) -> str:
    """The id of a planned trial in a sweep."""
    return f"{sweep_id}-{key}"


def insert_trials(connection: Connection, sweep_id: str, trials: Iterable[WrittenTrial], first: int = 0) -> int:
    """Record trials that nobody has claimed yet, from a position in the plan on; how many they were.

    By the databases' drivers, for the texts of JSON are there already.
    """
    alike = tuple(_ALIKE.values())
    rows = (
        (trial_id(sweep_id, one.key), sweep_id, place, one.workers, one.parameters, one.config, one.resources, *alike)
        for place, one in enumerate(trials, first)
    )
    insert = _copy if connection.dialect.name == "postgresql" else _insert
    return sum(insert(connection, batch) for batch in iter(lambda: list(islice(rows, _BATCH)), []))


def _insert(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
    values = ", ".join("?" * (len(_OWN) + len(_ALIKE)))
    connection.exec_driver_sql(f"INSERT INTO trial ({_COLUMNS}) VALUES ({values})", rows)
    return len(rows)


def _copy(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
    from sweeper.store.copying import copying  # loads psycopg

    with copying(connection, f"COPY trial ({_COLUMNS}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    return len(rows)
