"""Who runs which trial: schedulers with leases, and what is left behind by those that have gone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Connection, and_, delete, insert, select, update

from sweeper.plan.trial import TrialState
from sweeper.store import statements, tables
from sweeper.store.records import SchedulerRecord
from sweeper.store.transactions import Transactions

LEASE = timedelta(seconds=60)
LEFT_BEHIND = "its scheduler has gone"
_FORGOTTEN_AFTER = timedelta(days=7)  # a lease that ended so long ago needs no row: none is as good


class Leases:
    """The leases of a store's schedulers, as `Store` says."""

    def __init__(self, transactions: Transactions) -> None:
        self._read, self._write = transactions.read, transactions.write

    def begin(self, host: str, process: str) -> str:
        """Begin a lease of a minute for a process on a host, as `sweeper.gangs.process_identity` names them; its id."""
        scheduler_id = secrets.token_hex(6)

        def begin(connection: Connection) -> None:
            now, table = datetime.now(UTC), tables.scheduler
            connection.execute(delete(table).where(table.c.lease_until < now - _FORGOTTEN_AFTER))
            values = {"id": scheduler_id, "host": host, "process": process}
            connection.execute(insert(table).values(**values, started_at=now, lease_until=now + LEASE))

        self._write(begin, lambda connection, _: _renew(connection, scheduler_id))
        return scheduler_id

    def renew(self, scheduler_id: str) -> bool:
        """Let a lease run for a minute from now on; False where it ended so long ago that it has been forgotten."""
        return self._write(lambda connection: _renew(connection, scheduler_id))

    def held(self, scheduler_id: str) -> dict[str, int]:
        """The trials that run under a lease, each with its attempt."""
        trial = tables.trial.c
        mine = (trial.scheduler_id == scheduler_id, trial.state == TrialState.RUNNING.value)
        query = select(trial.id, trial.attempt).where(*mine)
        return {row.id: row.attempt for row in self._read(lambda connection: connection.execute(query).all())}

    def end(self, scheduler_id: str) -> None:
        """Give a lease up; what its holder still runs counts as left behind."""
        ended = delete(tables.scheduler).where(tables.scheduler.c.id == scheduler_id)
        self._write(lambda connection: connection.execute(ended))

    def release_left_behind(self, sweep_id: str, is_gone: Callable[[SchedulerRecord], bool]) -> list[str]:
        """Put trials back to pending that run under no live lease, or whose scheduler `is_gone`; their ids."""
        return self._write(lambda connection: _release_left_behind(connection, sweep_id, is_gone))


def _renew(connection: Connection, scheduler_id: str) -> bool:
    """Let the lease run from now on; False where it has been forgotten."""
    table = tables.scheduler
    renewal = update(table).where(table.c.id == scheduler_id).values(lease_until=datetime.now(UTC) + LEASE)
    return connection.execute(renewal).rowcount > 0


def _release_left_behind(
    connection: Connection, sweep_id: str, is_gone: Callable[[SchedulerRecord], bool]
) -> list[str]:
    """Put running trials whose scheduler has no lease any more, or is known to have gone, back to pending."""
    trial, tried = tables.trial.c, tables.attempt.c
    query = (
        select(trial.id, trial.attempt, trial.scheduler_id, tried.started_at, tried.gang_id)
        .outerjoin(tables.attempt, and_(tried.trial_id == trial.id, tried.number == trial.attempt))
        .where(trial.sweep_id == sweep_id, trial.state == TrialState.RUNNING.value)
        .order_by(trial.id)  # all who release take their rows in one order, and none waits for another in a ring
    )
    running = connection.execute(query).all()
    if not running:
        return []
    schedulers = _schedulers(connection, [row.scheduler_id for row in running if row.scheduler_id])
    now, gone = datetime.now(UTC), {one.id for one in schedulers.values() if is_gone(one)}
    released = []
    for row in running:
        scheduler = schedulers.get(row.scheduler_id)
        if scheduler and scheduler.lease_until > now and scheduler.id not in gone:
            continue
        # What has changed since it was read has been ended, or taken over, by somebody else.
        same = trial.scheduler_id.is_not_distinct_from(row.scheduler_id)
        # Its seats went with its scheduler; the time until somebody has noticed is nobody's.
        last_sign = scheduler.lease_until - LEASE if scheduler else now
        ended_at = max(row.started_at, last_sign) if row.started_at else last_sign
        release = partial(statements.release, ended_at=ended_at, held_since=None if row.gang_id else ended_at)
        if release(connection, row.id, row.attempt, LEFT_BEHIND, same):
            released.append(row.id)
    return released


def _schedulers(connection: Connection, ids: Sequence[str]) -> dict[str, SchedulerRecord]:
    table = tables.scheduler
    found = connection.execute(select(table).where(table.c.id.in_(set(ids)))).mappings()
    return {row["id"]: SchedulerRecord(**row) for row in found}
