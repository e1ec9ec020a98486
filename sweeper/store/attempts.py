"""Attempts at trials: claimed, reported, ended, put back; and whether that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, exists, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from sweeper.errors import LostTrialError
from sweeper.plan.trial import TrialState, predecessors
from sweeper.ranking.curve import CurveSummary
from sweeper.store import statements, tables
from sweeper.store.records import GangRecord

_INSERT: dict[str, Callable[..., Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def claim(
    connection: Connection, trial_id: str, log: Callable[[int], str], scheduler_id: str | None, now: datetime
) -> int | None:
    """Begin an attempt at a pending trial; its number, None where the trial is not to be had."""
    trial = tables.trial.c
    may_run = trial.state.in_([before.value for before in predecessors(TrialState.RUNNING)])
    # Whoever finds the row locked has come too late: on PostgreSQL nobody waits for what another is claiming. SQLite
    # locks no rows, and has one writer at a time.
    free = select(trial.attempt).where(trial.id == trial_id, may_run, statements.goes_on())
    last = connection.execute(free.with_for_update(skip_locked=True, key_share=True)).scalar()
    if last is None:
        return None
    number = int(last) + 1
    running = {"attempt": number, "reason": "", "scheduler_id": scheduler_id}
    connection.execute(statements.advance(trial_id, TrialState.RUNNING, **running))
    begun = {"trial_id": trial_id, "number": number, "state": TrialState.RUNNING.value}
    connection.execute(insert(tables.attempt).values(**begun, log=log(number), started_at=now))
    return number


def is_claimed(connection: Connection, trial_id: str, number: int | None, now: datetime) -> bool:
    """Whether the attempt of this number is the one that began at this moment."""
    attempt = tables.attempt.c
    same = (attempt.trial_id == trial_id, attempt.number == number, attempt.started_at == now)
    return number is None or _is_there(connection, *same)


def finish(
    connection: Connection,
    trial_id: str,
    attempt: int,
    state: TrialState,
    summary: CurveSummary,
    reason: str,
    traceback: str,
    phases: Mapping[str, float],
    oversubscribed: bool,
    derived_from: str | None,
) -> None:
    """End a trial that runs in this attempt.

    Raises:
        LostTrialError: it does not.
    """
    marks: dict[str, Any] = {"derived_from": derived_from}
    if oversubscribed:
        marks["oversubscribed"] = True
    ended = statements.advance(trial_id, state, reason=reason, **marks, **asdict(summary))
    same = [tables.trial.c.attempt == attempt]
    if state is TrialState.PRUNED:  # one that waits again was pruned by nobody: `give_up` is for these
        same.append(tables.trial.c.state == TrialState.RUNNING.value)
    if not connection.execute(ended.where(*same)).rowcount:
        raise LostTrialError(f"trial {trial_id} is not running in attempt {attempt}", "an ended trial stays as it is")
    statements.end_attempt(connection, trial_id, attempt, state.value, reason, traceback)
    if phases:
        shared = {"trial_id": trial_id, "attempt": attempt}
        connection.execute(insert(tables.phase), [{**shared, "name": name, "seconds": s} for name, s in phases.items()])


def give_up(connection: Connection, trial_id: str, reason: str) -> bool:
    """Prune a trial that waits; whether it did, and is pruned now."""
    waits = tables.trial.c.state == TrialState.PENDING.value
    pruned = statements.advance(trial_id, TrialState.PRUNED, reason=reason, scheduler_id=None).where(waits)
    return connection.execute(pruned).rowcount > 0


def is_given_up(connection: Connection, trial_id: str, reason: str) -> bool:
    """Whether the trial was pruned for this reason."""
    trial = tables.trial.c
    return _is_there(connection, trial.id == trial_id, trial.state == TrialState.PRUNED.value, trial.reason == reason)


def is_finished(connection: Connection, trial_id: str, attempt: int, state: TrialState) -> bool:
    """Whether the trial has ended so in this attempt."""
    trial = tables.trial.c
    return _is_there(connection, trial.id == trial_id, trial.attempt == attempt, trial.state == state.value)


def assign_gang(
    connection: Connection, trial_id: str, attempt: int, gang: GangRecord, log: str, *, oversubscribed: bool, keep: bool
) -> None:
    """Record the gang of an attempt, its log, and the trial's mark; the gang itself where it is new."""
    if oversubscribed or not keep:
        trial = update(tables.trial).where(tables.trial.c.id == trial_id, tables.trial.c.attempt == attempt)
        connection.execute(trial.values(oversubscribed=oversubscribed))
    insert_new = _INSERT[connection.dialect.name](tables.gang).on_conflict_do_nothing()
    connection.execute(insert_new.values(**asdict(gang)))
    connection.execute(statements.attempt_update(trial_id, attempt).values(gang_id=gang.id, log=log))


def is_reported(connection: Connection, table: Table, trial_id: str, attempt: int, step: int) -> bool:
    """Whether an attempt has reported something, a loss point or an evaluation, at this step."""
    return _is_there(connection, table.c.trial_id == trial_id, table.c.attempt == attempt, table.c.step == step)


def _is_there(connection: Connection, *conditions: Any) -> bool:
    return bool(connection.execute(select(exists().where(*conditions))).scalar())
