"""What happens to whole sweeps after they were submitted: stopped, extended, tried again, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, delete, func, insert, select, update

from sweeper.plan.trial import TrialSpec, TrialState, predecessors
from sweeper.store import statements, tables


def ask_to_stop(connection: Connection, sweep_id: str) -> int:
    """Cancel what waits, and let schedulers know that they shall stop what runs; how many were cancelled."""
    asked = update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(stop_asked_at=datetime.now(UTC))
    connection.execute(asked)
    return _move(connection, sweep_id, TrialState.PENDING, TrialState.CANCELLED, reason="stopped before it began")


def stop_is_asked(connection: Connection, sweep_id: str) -> bool:
    """Whether schedulers shall stop this sweep's running trials; also where it has been deleted."""
    query = select(tables.sweep.c.stop_asked_at).where(tables.sweep.c.id == sweep_id)
    found = connection.execute(query).one_or_none()
    return found is None or found.stop_asked_at is not None


def forget_stop(connection: Connection, sweep_id: str) -> None:
    """What was stopped may go on."""
    connection.execute(update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(stop_asked_at=None))


def try_failed_again(connection: Connection, sweep_id: str) -> int:
    """Put failed trials back to pending, for another attempt each; how many."""
    return _move(connection, sweep_id, TrialState.FAILED, TrialState.PENDING)


def extend(
    connection: Connection, sweep_id: str, trials: Sequence[TrialSpec], most: int | None = None
) -> list[TrialSpec]:
    """Add those trials that the sweep has not yet, behind the others; these. None where it would have over `most`."""
    trial = tables.trial.c
    # Whoever adds waits here for who adds at the same time: positions and `most` are of all.
    connection.execute(select(tables.sweep.c.id).where(tables.sweep.c.id == sweep_id).with_for_update())
    new = missing(connection, sweep_id, trials)
    there = connection.execute(select(func.count()).where(trial.sweep_id == sweep_id)).scalar_one()
    if most is not None and there + len(new) > most:
        return []
    last = connection.execute(select(func.max(trial.position)).where(trial.sweep_id == sweep_id)).scalar() or 0
    if new:
        rows = [statements.new_trial(sweep_id, position, one) for position, one in enumerate(new, last + 1)]
        connection.execute(insert(tables.trial), rows)
    return new


def missing(connection: Connection, sweep_id: str, trials: Sequence[TrialSpec]) -> list[TrialSpec]:
    """Those trials that the sweep does not have."""
    trial = tables.trial.c
    known = set(connection.execute(select(trial.id).where(trial.sweep_id == sweep_id)).scalars())
    return [one for one in trials if statements.trial_id(sweep_id, one) not in known]


def delete_sweep(connection: Connection, sweep_id: str) -> None:
    """Remove a sweep with all that was recorded of it."""
    connection.execute(delete(tables.sweep).where(tables.sweep.c.id == sweep_id))


def _move(connection: Connection, sweep_id: str, before: TrialState, after: TrialState, reason: str = "") -> int:
    assert before in predecessors(after)
    trial = tables.trial
    moved = connection.execute(
        update(trial)
        .where(trial.c.sweep_id == sweep_id, trial.c.state == before.value)
        .values(state=after.value, reason=reason, scheduler_id=None)
    )
    return moved.rowcount
