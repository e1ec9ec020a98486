"""Who runs which trial: schedulers with leases, claims, and what is left behind by those that have gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from sweeper.plan.trial import TrialState
from sweeper.store import statements, tables
from sweeper.store.records import SchedulerRecord

LEASE = timedelta(seconds=60)
LEFT_BEHIND = "its scheduler has gone"
_FORGOTTEN_AFTER = timedelta(days=7)  # a lease that ended so long ago needs no row: none is as good


def add_scheduler(connection: Connection, scheduler_id: str, host: str, process: str) -> None:
    """Begin a lease, whose holder has this id."""
    now = datetime.now(UTC)
    connection.execute(delete(tables.scheduler).where(tables.scheduler.c.lease_until < now - _FORGOTTEN_AFTER))
    values = {"id": scheduler_id, "host": host, "process": process, "started_at": now, "lease_until": now + LEASE}
    connection.execute(insert(tables.scheduler).values(values))


def renew(connection: Connection, scheduler_id: str) -> bool:
    """Let the lease run from now on; False where it has been forgotten."""
    table = tables.scheduler
    renewal = update(table).where(table.c.id == scheduler_id).values(lease_until=datetime.now(UTC) + LEASE)
    return connection.execute(renewal).rowcount > 0


def held(connection: Connection, scheduler_id: str) -> dict[str, int]:
    """The trials that run under a lease, each with its attempt."""
    trial = tables.trial.c
    mine = (trial.scheduler_id == scheduler_id, trial.state == TrialState.RUNNING.value)
    return {row.id: row.attempt for row in connection.execute(select(trial.id, trial.attempt).where(*mine))}


def end(connection: Connection, scheduler_id: str) -> None:
    """Give the lease up."""
    connection.execute(delete(tables.scheduler).where(tables.scheduler.c.id == scheduler_id))


def release_left_behind(connection: Connection, sweep_id: str, is_gone: Callable[[SchedulerRecord], bool]) -> list[str]:
    """Put running trials whose scheduler has no lease any more, or is known to have gone, back to pending."""
    trial = tables.trial.c
    query = (
        select(trial.id, trial.attempt, trial.scheduler_id)
        .where(trial.sweep_id == sweep_id, trial.state == TrialState.RUNNING.value)
        .order_by(trial.id)  # all who release take their rows in one order, and none waits for another in a ring
    )
    running = connection.execute(query).all()
    if not running:
        return []
    alive = _alive(connection, [row.scheduler_id for row in running if row.scheduler_id], is_gone)
    released = []
    for row in running:
        if row.scheduler_id in alive:
            continue
        # What has changed since it was read has been ended, or taken over, by somebody else.
        same = trial.scheduler_id.is_not_distinct_from(row.scheduler_id)
        if statements.release(connection, row.id, row.attempt, LEFT_BEHIND, same):
            released.append(row.id)
    return released


def _alive(connection: Connection, ids: Sequence[str], is_gone: Callable[[SchedulerRecord], bool]) -> set[str]:
    table = tables.scheduler
    found = connection.execute(select(table).where(table.c.id.in_(set(ids)))).mappings()
    now = datetime.now(UTC)
    records = [SchedulerRecord(**row) for row in found]
    return {record.id for record in records if record.lease_until > now and not is_gone(record)}
