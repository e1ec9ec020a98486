"""Statements that several of the store's methods share, and its longer queries.

Those that are always the same are made once: to make one takes longer than to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    Table,
    Text,
    Update,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from engine.config import MODELS
from engine.protocol import OFF_THE_CLOCK
from sweeper.plan.trial import KEEPING, KEPT, TrialState, predecessors
from sweeper.ranking.chance import LIMITS
from sweeper.ranking.curve import LossPoint
from sweeper.store import tables
from sweeper.store.records import Printed

PLACE = 8  # of the position among the columns of `candidates_of`
INTERRUPTED = "interrupted"  # the state of an attempt that did not come to its end


def advance(trial_id: str, state: TrialState, **values: Any) -> Update:
    """An update that happens only from a state that `state` may follow."""
    before = [earlier.value for earlier in predecessors(state)]
    return (
        update(tables.trial)
        .where(tables.trial.c.id == trial_id, tables.trial.c.state.in_(before))
        .values(state=state.value, **values)
    )


@cache
def trials() -> Select[Any]:
    """The fields of `TrialRecord`: a trial's row, and state and attempt of the result that it keeps."""
    kept = {"kept_state": _of_kept("state"), "kept_attempt": kept_attempt()}
    return select(tables.trial, *(case((_may_keep(), column)).label(name) for name, column in kept.items()))


@cache
def kept_attempt() -> ScalarSelect[Any]:
    """Of a trial that waits or runs: the attempt whose result it keeps while it is repeated; NULL for most."""
    return _of_kept("number")


@cache
def keeps_result() -> ColumnElement[bool]:
    """Whether a trial waits or runs, and keeps a result meanwhile."""
    return and_(_may_keep(), kept_attempt().is_not(None))


@cache
def result_attempt() -> ColumnElement[Any]:
    """The attempt that a trial's curve is of: its latest, or the one whose result it keeps."""
    trial = tables.trial.c
    return case((_may_keep(), func.coalesce(kept_attempt(), trial.attempt)), else_=trial.attempt)


@cache
def result_state() -> ColumnElement[Any]:
    """A trial's state, or that of the result that it keeps."""
    trial = tables.trial.c
    return case((_may_keep(), func.coalesce(_of_kept("state"), trial.state)), else_=trial.state)


def restore(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Give trials that are repeated, under these conditions, their kept results and states back; how many there were.

    Their results are still on their rows.
    """
    back = {"state": _of_kept("state"), "reason": _of_kept("reason"), "attempt": kept_attempt(), "scheduler_id": None}
    return connection.execute(update(tables.trial).where(keeps_result(), *conditions).values(**back)).rowcount


@cache
def _may_keep() -> ColumnElement[bool]:
    """Whether a trial is to be asked for a kept result: of many that wait, most have never begun."""
    trial = tables.trial.c
    return and_(trial.attempt > 0, trial.state.in_([state.value for state in KEEPING]))


@cache
def _of_kept(column: str) -> ScalarSelect[Any]:
    """A column of the attempt whose result a trial keeps: its latest complete one, else its latest pruned one.

    As `sweeper.plan.trial.replaces` has it: an attempt that was pruned after a complete one replaced nothing.
    """
    attempt = tables.attempt.alias("kept")
    query = select(attempt.c[column]).where(
        attempt.c.trial_id == tables.trial.c.id, attempt.c.state.in_([state.value for state in KEPT])
    )
    complete = case((attempt.c.state == TrialState.COMPLETED.value, 1), else_=0)
    return query.order_by(complete.desc(), attempt.c.number.desc()).limit(1).correlate(tables.trial).scalar_subquery()


@cache
def goes_on() -> ColumnElement[bool]:
    """Whether nobody has asked to stop a trial's sweep."""
    sweep = tables.sweep.c
    return exists().where(sweep.id == tables.trial.c.sweep_id, sweep.stop_asked_at.is_(None))


def end_attempt(
    connection: Connection,
    trial_id: str,
    attempt: int,
    state: str,
    reason: str,
    traceback: str,
    *,
    printed: Printed | None = None,
    held_since: datetime | None = None,
    ended_at: datetime | None = None,
) -> None:
    """Record the end of an attempt, now or at another time, what it `printed`, and since when it has held its seats."""
    ended = {"state": state, "reason": reason, "traceback": traceback, "ended_at": ended_at or datetime.now(UTC)}
    ended |= {"started_at": held_since} if held_since else {}
    connection.execute(attempt_update(trial_id, attempt).values(**ended))
    if printed:
        connection.execute(insert(tables.printed).values(trial_id=trial_id, attempt=attempt, **vars(printed)))


def release(
    connection: Connection,
    trial_id: str,
    attempt: int,
    reason: str,
    *conditions: ColumnElement[bool],
    outcome: str = INTERRUPTED,
    traceback: str = "",
    printed: Printed | None = None,
    held_since: datetime | None = None,
    ended_at: datetime | None = None,
) -> bool:
    """Put a trial that runs in this attempt, and under these conditions, back to pending; whether it was so.

    One whose attempt was interrupted returns to the result that it keeps, if it does.
    """
    trial = tables.trial.c
    same = (trial.attempt == attempt, trial.state == TrialState.RUNNING.value, *conditions)
    back = advance(trial_id, TrialState.PENDING, reason=reason, scheduler_id=None).where(*same)
    released = outcome == INTERRUPTED and restore(connection, trial.id == trial_id, *same) > 0
    if not released:
        released = connection.execute(back).rowcount > 0
    if released:
        times = {"held_since": held_since, "ended_at": ended_at}
        end_attempt(connection, trial_id, attempt, outcome, reason, traceback, printed=printed, **times)
    return released


def attempt_update(trial_id: str, attempt: int) -> Update:
    """An update of one attempt's row."""
    return update(tables.attempt).where(tables.attempt.c.trial_id == trial_id, tables.attempt.c.number == attempt)


def insert_points(connection: Connection, trial_id: str, attempt: int, points: Sequence[LossPoint]) -> None:
    """Add loss points of an attempt in one statement, if there are any; on PostgreSQL by a binary COPY.

    On SQLite by its driver, in a third of the time that columns' types take: here they are applied by hand.
    """
    if connection.dialect.name == "postgresql":
        from sweeper.store.copied_points import copy_points  # loads psycopg and NumPy

        copy_points(connection, trial_id, attempt, points)
        return
    values = [
        (
            *(trial_id, attempt, p.step, p.images),
            None if p.seconds != p.seconds else p.seconds + 0.0,
            None if p.loss != p.loss else p.loss + 0.0,
        )
        for p in points
    ]
    if values:
        columns = "trial_id, attempt, step, images, seconds, loss"
        connection.exec_driver_sql(f"INSERT INTO loss_point ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)


class Counts(NamedTuple):
    """Of a sweep: its trials by state, whether any was ever attempted, and how many run under a live lease."""

    states: dict[TrialState, int]
    begun: bool
    held: int


def state_counts(connection: Connection, sweep_id: str | None = None) -> dict[str, Counts]:
    """The counts of one sweep, or of all that have trials; from an index, but for what that does not tell."""
    trial = tables.trial.c
    query = select(trial.sweep_id, trial.state, func.count()).group_by(trial.sweep_id, trial.state)
    if sweep_id is not None:
        query = query.where(trial.sweep_id == sweep_id)
    states: dict[str, dict[TrialState, int]] = {}
    for of_sweep, state, count in connection.execute(query):
        states.setdefault(of_sweep, {})[TrialState(state)] = count
    run = [one for one, counts in states.items() if TrialState.RUNNING in counts]
    held = {one: _count(connection, trial.sweep_id == one, is_held()) for one in run}
    wait = [one for one, counts in states.items() if counts.keys() == {TrialState.PENDING}]  # maybe for another attempt
    begun = {one: _is_there(connection, trial.sweep_id == one, trial.attempt > 0) for one in wait}
    return {one: Counts(counts, begun.get(one, True), held.get(one, 0)) for one, counts in states.items()}


def _count(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(tables.trial).where(*conditions)).scalar() or 0)


def _is_there(connection: Connection, *conditions: ColumnElement[bool]) -> bool:
    return bool(connection.execute(select(exists().where(*conditions))).scalar())


def is_held() -> ColumnElement[bool]:
    """Whether a trial runs, and the lease of its scheduler has not ended."""
    scheduler, trial = tables.scheduler.c, tables.trial.c
    alive = select(scheduler.id).where(scheduler.lease_until > datetime.now(UTC))
    return and_(trial.state == TrialState.RUNNING.value, trial.scheduler_id.in_(alive))


def candidates_of(sweep_id: str, over: str, *, oversubscribed: bool, kept: bool = True) -> Select[Any]:
    """The fields of each trial's `Candidate`, in the order of the plan; its parameters as the text of JSON.

    With `kept` a trial that is repeated is in the state of the result that it keeps.
    """
    trial = tables.trial.c
    areas = {"seconds": trial.area_seconds, "images": trial.area_images, "steps": trial.area_steps}
    area: ColumnElement[Any] = areas[over]
    if over == "seconds" and not oversubscribed:
        area = case((trial.oversubscribed, None), else_=area)
    curve = (trial.finite, area, trial.minimum_loss, trial.seconds, trial.images)
    rest = (trial.position, trial.oversubscribed, trial.derived_from, _is_at_chance())
    state = result_state() if kept else trial.state
    return (
        select(trial.id, cast(trial.parameters, Text), state, *curve, *rest)
        .where(trial.sweep_id == sweep_id)
        .order_by(trial.position)
    )


@cache
def _is_at_chance() -> ColumnElement[bool]:
    """As `sweeper.ranking.chance.is_at_chance`; settings are read only of trials whose loss is that high."""
    trial = tables.trial.c
    data, model = trial.config["data"].as_string(), trial.config["model"].as_string()
    never_below = or_(*(and_(data == name, trial.minimum_loss >= limit) for name, limit in LIMITS.items()))
    of_classes = case((and_(model.in_(list(MODELS)), never_below), true()), else_=false())
    is_high = and_(trial.minimum_loss >= min(LIMITS.values()), result_state() == TrialState.COMPLETED.value)
    return case((is_high, of_classes), else_=false())


def of_attempt(table: Table, trial_id: str, attempt: int | None) -> Select[Any]:
    """What an attempt reported, in the order of steps; that of the trial's result where none is given."""
    trial = tables.trial.c
    latest = select(result_attempt()).where(trial.id == trial_id).scalar_subquery()
    return (
        select(table)
        .where(table.c.trial_id == trial_id, table.c.attempt == (latest if attempt is None else attempt))
        .order_by(table.c.step)
    )


def attempt_times_of(sweep_id: str) -> Select[Any]:
    """Beginning, end and gang of all attempts at a sweep's trials."""
    attempt, trial = tables.attempt.c, tables.trial.c
    return (
        select(attempt.trial_id, attempt.started_at, attempt.ended_at, attempt.gang_id)
        .join(tables.trial, trial.id == attempt.trial_id)
        .where(trial.sweep_id == sweep_id)
    )


def attempt_spans_of(sweep_id: str) -> Select[Any]:
    """The fields of `AttemptSpan` of each attempt that had a gang, in the order of their beginnings."""
    attempt, trial, phase = tables.attempt.c, tables.trial.c, tables.phase.c
    off = phase.name.in_(OFF_THE_CLOCK)
    sums = (
        select(
            phase.trial_id,
            phase.attempt,
            func.sum(case((off, 0.0), else_=phase.seconds)).label("trained"),
            func.sum(case((off, phase.seconds), else_=0.0)).label("off_clock"),
        )
        .join(tables.trial, trial.id == phase.trial_id)
        .where(trial.sweep_id == sweep_id)
        .group_by(phase.trial_id, phase.attempt)
        .subquery()
    )
    return (
        select(
            *(attempt.trial_id, attempt.number, attempt.gang_id, trial.workers, attempt.state, attempt.started_at),
            *(attempt.startup_seconds.label("startup"), attempt.setup_seconds.label("setup"), attempt.ended_at),
            *(sums.c.trained, func.coalesce(sums.c.off_clock, 0.0).label("off_clock"), tables.gang.c.hosts),
        )
        .join(tables.trial, trial.id == attempt.trial_id)
        .join(tables.gang, tables.gang.c.id == attempt.gang_id)
        .outerjoin(sums, (sums.c.trial_id == attempt.trial_id) & (sums.c.attempt == attempt.number))
        .where(trial.sweep_id == sweep_id, attempt.gang_id.is_not(None))
        .order_by(attempt.started_at, attempt.trial_id)
    )


def evaluations_of(sweep_id: str) -> Select[Any]:
    """The evaluations of each trial that does not wait, or keeps a result, in the order of plan and steps."""
    evaluation, trial = tables.evaluation.c, tables.trial.c
    return (
        select(tables.evaluation)
        .select_from(tables.evaluation)
        .join(tables.trial, (trial.id == evaluation.trial_id) & (result_attempt() == evaluation.attempt))
        .where(trial.sweep_id == sweep_id, result_state() != TrialState.PENDING.value)
        .order_by(trial.position, evaluation.step)
    )


def last_evaluations_of(sweep_id: str) -> Select[Any]:
    """Of `evaluations_of` the last one of each trial."""
    evaluation, other = tables.evaluation.c, tables.evaluation.alias()
    same_attempt = (other.c.trial_id == evaluation.trial_id) & (other.c.attempt == evaluation.attempt)
    last = select(func.max(other.c.step)).where(same_attempt).scalar_subquery()
    return evaluations_of(sweep_id).where(evaluation.step == last)
