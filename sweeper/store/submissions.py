"""Sweeps that were handed to a service: under which key, in which order, and what kept one from being run."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, exists, func, insert, select, update

from sweeper.errors import SubmissionError
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.spec import SweepSpec
from sweeper.store import tables
from sweeper.store.records import SubmissionRecord
from sweeper.store.sweeps import add_sweep, is_there
from sweeper.store.transactions import Transactions

_OPEN = (TrialState.PENDING, TrialState.RUNNING)


class Submissions:
    """The sweeps of a store that services run; each method is one transaction, as the store's own are."""

    def __init__(self, transactions: Transactions) -> None:
        self._read, self._write = transactions.read, transactions.write

    def add(self, key: str, digest: str, spec: SweepSpec, trials: Sequence[TrialSpec]) -> tuple[str, bool]:
        """Record a sweep under a key; its id, and whether it is new: a key that is there already has its sweep.

        `digest` is of what was submitted.

        Raises:
            SubmissionError: something else was submitted under this key.
        """
        sweep_id = secrets.token_hex(4)

        def add(connection: Connection) -> tuple[str, bool]:
            _wait_for_others(connection, key)
            if found := _of_key(connection, key):
                if found["digest"] != digest:
                    raise SubmissionError(
                        f"key {key!r}: sweep {found['sweep_id']} was submitted under it, with another spec",
                        "choose another key, or submit the same spec",
                    )
                return found["sweep_id"], False
            add_sweep(connection, sweep_id, spec, trials)
            values = {"key": key, "sweep_id": sweep_id, "digest": digest, "submitted_at": datetime.now(UTC)}
            connection.execute(insert(tables.submission).values(values))
            return sweep_id, True

        return self._write(add, lambda connection, _: is_there(connection, sweep_id))

    def all(self) -> list[SubmissionRecord]:
        """All of them, in the order in which they came."""
        table = tables.submission
        query = select(table).order_by(table.c.submitted_at, table.c.key)
        return [_record(row) for row in self._read(lambda connection: connection.execute(query).mappings().all())]

    def runnable(self) -> list[tuple[str, bool]]:
        """The ids of sweeps without a problem, in the order in which they came; whether a trial waits or runs."""
        table, trial = tables.submission.c, tables.trial.c
        waits = exists().where(trial.sweep_id == table.sweep_id, trial.state.in_([state.value for state in _OPEN]))
        query = select(table.sweep_id, waits).where(table.problem.is_(None)).order_by(table.submitted_at, table.key)
        found = self._read(lambda connection: connection.execute(query).all())
        return [(sweep_id, bool(is_open)) for sweep_id, is_open in found]

    def of(self, sweep_id: str) -> SubmissionRecord | None:
        """The one of a sweep; None where that was begun otherwise."""
        query = select(tables.submission).where(tables.submission.c.sweep_id == sweep_id)
        row = self._read(lambda connection: connection.execute(query).mappings().one_or_none())
        return _record(row) if row else None

    def note_problem(self, sweep_id: str, problem: Mapping[str, str] | None) -> None:
        """Record why a sweep cannot be run, as {"kind", "message", "remedy"}; None lets it be tried again."""
        table = tables.submission
        noted = update(table).where(table.c.sweep_id == sweep_id)
        values: dict[str, Any] = {"problem": dict(problem) if problem else None}
        self._write(lambda connection: connection.execute(noted.values(**values)))


def _wait_for_others(connection: Connection, key: str) -> None:
    """Let who submits the same key at the same time be first; on SQLite all who write have waited already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(key))))


def _of_key(connection: Connection, key: str) -> RowMapping | None:
    return connection.execute(select(tables.submission).where(tables.submission.c.key == key)).mappings().one_or_none()


def _record(row: RowMapping) -> SubmissionRecord:
    return SubmissionRecord(row["key"], row["sweep_id"], row["digest"], row["submitted_at"], row["problem"])
