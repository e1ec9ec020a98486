"""Attempts at trials: claimed, reported, ended, put back, and read again; and whether that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table, and_, exists, func, insert, not_, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from sweeper.errors import LostTrialError
from sweeper.plan.trial import KEPT, TrialState, predecessors, replaces
from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.store import rows, statements, tables
from sweeper.store.records import AttemptRecord, AttemptSpan, EvaluationRecord, GangRecord, Printed, Settled
from sweeper.store.transactions import Transactions

_AT_ONCE = 500  # values in one statement; SQLite takes a limited number
_INSERT: dict[str, Callable[..., Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Attempts:
    """The attempts of a store, as `Store` says.

    A trial's curve is that of its latest attempt, or of the one whose result it keeps: while it is repeated, and after
    a repetition that replaced nothing.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._read, self._write, self._all = transactions.read, transactions.write, transactions.rows

    # From claim to end

    def claim(
        self, trial_id: str, log: Callable[[int], str] = lambda _: "", scheduler_id: str | None = None
    ) -> int | None:
        """Take a pending trial for running; the number of its new attempt, or None where somebody else was first.

        None also where its sweep is to be stopped.

        `log` gives the path of an attempt's log, as it will be if a new gang serves it. Without a scheduler that has a
        lease the trial counts as left behind.
        """
        now = datetime.now(UTC)
        return self._write(
            lambda connection: _claim(connection, trial_id, log, scheduler_id, now),
            lambda connection, number: _is_claimed(connection, trial_id, number, now),
        )

    def assign_gang(
        self,
        trial_id: str,
        attempt: int,
        gang: GangRecord,
        log: str,
        *,
        oversubscribed: bool = False,
        keep: bool = False,
        held_since: datetime | None = None,
    ) -> None:
        """Record the MPI job that serves an attempt, and its log; the gang itself only the first time it is named.

        If given, the attempt counts as started at `held_since`, when it got its seats: it was claimed earlier.

        Also whether the trial is `oversubscribed`; with `keep` one that was marked before stays so.
        """
        marks = {"oversubscribed": oversubscribed, "keep": keep}
        values = {"gang_id": gang.id, "log": log, **({"started_at": held_since} if held_since else {})}
        self._write(lambda connection: _assign_gang(connection, trial_id, attempt, gang, values, **marks))

    def start(
        self, trial_id: str, attempt: int, startup_seconds: float, setup_seconds: float, effective: Mapping[str, Any]
    ) -> None:
        """Record that set-up is over: how long gang and engine took, and what the engine chose."""
        started = {"startup_seconds": startup_seconds, "setup_seconds": setup_seconds, "effective": dict(effective)}
        update = statements.attempt_update(trial_id, attempt).values(**started)
        self._write(lambda connection: connection.execute(update))

    def add_points(self, trial_id: str, attempt: int, points: Sequence[LossPoint]) -> None:
        """Append loss points of an attempt, all or none, in one bulk insert."""
        if points:
            table, step = tables.loss_point, points[-1].step
            self._write(
                lambda connection: statements.insert_points(connection, trial_id, attempt, points),
                lambda connection, _: _is_reported(connection, table, trial_id, attempt, step),
            )

    def add_evaluation(self, trial_id: str, attempt: int, evaluation: EvaluationRecord) -> None:
        """Record an evaluation of an attempt; as with loss points, a step has one and no second."""
        table = tables.evaluation
        values = {"trial_id": trial_id, "attempt": attempt, **asdict(evaluation)}
        self._write(
            lambda connection: connection.execute(insert(table).values(values)),
            lambda connection, _: _is_reported(connection, table, trial_id, attempt, evaluation.step),
        )

    def finish(
        self,
        trial_id: str,
        attempt: int,
        state: TrialState,
        summary: CurveSummary,
        *,
        reason: str = "",
        traceback: str = "",
        phases: Mapping[str, float] | None = None,
        oversubscribed: bool = False,
        derived_from: str | None = None,
        printed: Printed | None = None,
        held_since: datetime | None = None,
    ) -> Settled:
        """End a running trial; its points are in already, its phases (total seconds by name) come with this.

        So does what its ranks `printed`; None if that is nothing.

        One that is repeated returns to the result that it keeps, unless the end `replaces` that
        (`sweeper.plan.trial`): it does so if it fails, is cancelled, or is pruned and had a complete result. The
        attempt has its end in either case.

        It counts as `oversubscribed` from now on where that is said here, and as `derived_from` another trial where its
        losses are that one's. `held_since` as in `assign_gang`, for an attempt without a gang.

        Raises:
            LostTrialError: the trial is not running in this attempt; an ended trial is never rewritten.
        """
        trial, keeps = tables.trial.c, statements.keeps_result()
        marks: dict[str, Any] = {"derived_from": derived_from, "oversubscribed": True}
        if not oversubscribed:
            marks["oversubscribed"] = and_(trial.oversubscribed, not_(keeps))  # the mark is of the result that goes
        same = [trial.attempt == attempt]
        stays = [kept.value for kept in KEPT if not replaces(state, kept)]
        returns = (*same, trial.id == trial_id, trial.state == TrialState.RUNNING.value)
        returns = (*returns, statements.result_state().in_(stays))
        if state is TrialState.PRUNED:  # one that waits again was pruned by nobody: `give_up` is for these
            same.append(trial.state == TrialState.RUNNING.value)
        else:
            same.append(or_(trial.state == TrialState.RUNNING.value, not_(keeps)))
        ended = statements.advance(trial_id, state, reason=reason, **marks, **asdict(summary)).where(*same)
        shared = {"trial_id": trial_id, "attempt": attempt}
        parts = [{**shared, "name": name, "seconds": seconds} for name, seconds in (phases or {}).items()]

        def finish(connection: Connection) -> Settled:
            restored = bool(stays) and statements.restore(connection, *returns) > 0
            if not restored and not connection.execute(ended).rowcount:
                raise LostTrialError(
                    f"trial {trial_id} is not running in attempt {attempt}", "an ended trial stays as it is"
                )
            end = partial(statements.end_attempt, printed=printed, held_since=held_since)
            end(connection, trial_id, attempt, state.value, reason, traceback)
            if parts:
                connection.execute(insert(tables.phase), parts)
            return Settled.RESTORED if restored else Settled.ENDED

        tried = tables.attempt.c
        recorded = (trial.id == trial_id, trial.attempt == attempt, trial.state == state.value)
        returned = (tried.trial_id == trial_id, tried.number == attempt, tried.state == state.value)
        return self._write(
            finish, lambda connection, _: _is_there(connection, *recorded) or _is_there(connection, *returned)
        )

    def give_up(self, trial_id: str, reason: str) -> Settled | None:
        """Prune a trial that waits, without an attempt; None where it does not wait any more.

        One that is to be repeated returns to the result that it keeps.
        """
        trial = tables.trial.c
        pruned = statements.advance(trial_id, TrialState.PRUNED, reason=reason, scheduler_id=None)
        waits = pruned.where(trial.state == TrialState.PENDING.value)
        recorded = (trial.id == trial_id, trial.state == TrialState.PRUNED.value, trial.reason == reason)
        restored = (trial.id == trial_id, trial.state.in_([state.value for state in KEPT]))
        is_it = (trial.id == trial_id, trial.state == TrialState.PENDING.value)

        def give_up(connection: Connection) -> Settled | None:
            if statements.restore(connection, *is_it):
                return Settled.RESTORED
            return Settled.ENDED if connection.execute(waits).rowcount else None

        marks = {Settled.ENDED: recorded, Settled.RESTORED: restored}
        return self._write(
            give_up, lambda connection, given_up: given_up is not None and _is_there(connection, *marks[given_up])
        )

    def keeps_result(self, trial_id: str) -> bool:
        """Whether a trial waits or runs, and keeps a result meanwhile."""
        repeated = (tables.trial.c.id == trial_id, statements.keeps_result())
        return self._read(lambda connection: _is_there(connection, *repeated))

    def release(
        self,
        trial_id: str,
        attempt: int,
        reason: str,
        outcome: str = statements.INTERRUPTED,
        traceback: str = "",
        *,
        printed: Printed | None = None,
        held_since: datetime | None = None,
    ) -> None:
        """Put a running trial back to pending; what the attempt reported, and its `outcome`, stay with the attempt.

        One that is repeated, and was interrupted, returns to the result that it keeps. `printed` and `held_since` as in
        `finish`.
        """
        release = partial(
            statements.release, outcome=outcome, traceback=traceback, printed=printed, held_since=held_since
        )
        self._write(lambda connection: release(connection, trial_id, attempt, reason))

    # What was recorded

    def of(self, trial_id: str) -> list[AttemptRecord]:
        """The attempts at a trial, first to last."""
        query = select(tables.attempt).where(tables.attempt.c.trial_id == trial_id).order_by(tables.attempt.c.number)
        return [rows.attempt_record(row) for row in self._all(query)]

    def derived_before(self, sweep_id: str) -> list[tuple[str, int]]:
        """Trials with a result of their own that once had a derived one, each with the attempt that was derived."""
        trial, tried = tables.trial.c, tables.attempt.c
        query = (
            select(tried.trial_id, tried.number)
            .join(tables.trial, trial.id == tried.trial_id)
            .where(trial.sweep_id == sweep_id, trial.state == TrialState.COMPLETED.value, trial.derived_from.is_(None))
            .where(tried.state == TrialState.COMPLETED.value, tried.number < trial.attempt)
            .where(tried.gang_id.is_(None), tried.startup_seconds.is_(None))
            .order_by(trial.position, tried.number)
        )
        return self._read(lambda connection: [(row.trial_id, row.number) for row in connection.execute(query)])

    def points(self, trial_id: str, attempt: int | None = None) -> list[LossPoint]:
        """The curve of an attempt, of the one that the trial has its result of where none is given."""
        return [rows.loss_point(row) for row in self._all(statements.of_attempt(tables.loss_point, trial_id, attempt))]

    def curves(
        self, trials: Sequence[str], *, all_attempts: bool = False
    ) -> list[tuple[str, int, int, int | None, float, float]]:
        """Trial, attempt, step, images, seconds and loss of each point of these trials, trial after trial.

        Of each trial's latest attempt, or of all.
        """
        point, trial = tables.loss_point.c, tables.trial.c
        columns = (point.trial_id, point.attempt, point.step, point.images, point.seconds, point.loss)
        query = select(*columns).order_by(point.trial_id, point.attempt, point.step)
        if not all_attempts:
            query = query.join(
                tables.trial, (trial.id == point.trial_id) & (statements.result_attempt() == point.attempt)
            )

        def read(connection: Connection) -> dict[str, list[Any]]:
            found: dict[str, list[Any]] = {one: [] for one in trials}
            for begin in range(0, len(trials), _AT_ONCE):
                for row in connection.execute(query.where(point.trial_id.in_(trials[begin : begin + _AT_ONCE]))):
                    found[row[0]].append(tuple(row))
            return found

        return [row for of_trial in self._read(read).values() for row in of_trial]

    def evaluations(self, trial_id: str, attempt: int | None = None) -> list[EvaluationRecord]:
        """The evaluations of an attempt in the order of their steps, as in `points` where none is given."""
        query = statements.of_attempt(tables.evaluation, trial_id, attempt)
        return [rows.evaluation_record(row) for row in self._all(query)]

    def evaluations_by_trial(self, sweep_id: str) -> dict[str, list[EvaluationRecord]]:
        """The evaluations of a sweep's trials by trial, each in the order of its steps; only trials that have some.

        They are those of each trial's latest attempt; what waits for another attempt has none. One query.
        """
        found: dict[str, list[EvaluationRecord]] = {}
        for row in self._all(statements.evaluations_of(sweep_id)):
            found.setdefault(row["trial_id"], []).append(rows.evaluation_record(row))
        return found

    def last_evaluations(self, sweep_id: str, trials: Sequence[str] | None = None) -> dict[str, EvaluationRecord]:
        """The last of each trial's evaluations, of those of these `trials` that `evaluations_by_trial` has, or of all.

        One query, or one for some hundred trials.
        """
        query = statements.last_evaluations_of(sweep_id)
        queries = [query]
        if trials is not None:
            portions = (trials[begin : begin + _AT_ONCE] for begin in range(0, len(trials), _AT_ONCE))
            queries = [query.where(tables.trial.c.id.in_(some)) for some in portions]
        found = (row for one in queries for row in self._all(one))
        return {row["trial_id"]: rows.evaluation_record(row) for row in found}

    def phases(self, trial_id: str, attempt: int) -> dict[str, float]:
        """Total seconds by phase of an attempt."""
        table = tables.phase
        query = select(table.c.name, table.c.seconds).where(table.c.trial_id == trial_id, table.c.attempt == attempt)
        return {row["name"]: row["seconds"] for row in self._all(query)}

    def printed(self, trial_id: str, attempt: int) -> Printed | None:
        """What the ranks of an attempt that has ended printed; None if that is nothing, or nobody recorded it."""
        table = tables.printed.c
        query = select(table.text, table.omitted).where(table.trial_id == trial_id, table.attempt == attempt)
        return next((Printed(**row) for row in self._all(query)), None)

    def gangs(self, sweep_id: str) -> list[GangRecord]:
        """The gangs of a sweep, first to last."""
        query = select(tables.gang).where(tables.gang.c.sweep_id == sweep_id).order_by(tables.gang.c.started_at)
        return [rows.gang_record(row) for row in self._all(query)]

    def spans(self, sweep_id: str) -> list[AttemptSpan]:
        """What the time of each attempt went into that had a gang, first to last."""
        return [AttemptSpan(**row) for row in self._all(statements.attempt_spans_of(sweep_id))]

    def seconds(self, sweep_id: str) -> dict[str, float]:
        """Seconds that the attempts at each trial held their seats together, those that run up to now.

        The wait for seats is not counted; of an attempt whose gang is not up yet, nothing is.
        """
        now = datetime.now(UTC)
        found: dict[str, float] = {}
        for row in self._all(statements.attempt_times_of(sweep_id)):
            end = row["ended_at"] or (now if row["gang_id"] else row["started_at"])
            took = max(0.0, (end - row["started_at"]).total_seconds())
            found[row["trial_id"]] = found.get(row["trial_id"], 0.0) + took
        return found


def _claim(
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
    # A trial whose repetition was interrupted has gone back to an earlier attempt than its last.
    made = select(func.max(tables.attempt.c.number)).where(tables.attempt.c.trial_id == trial_id)
    number = max(int(last), connection.execute(made).scalar() or 0) + 1
    running = {"attempt": number, "reason": "", "scheduler_id": scheduler_id}
    connection.execute(statements.advance(trial_id, TrialState.RUNNING, **running))
    begun = {"trial_id": trial_id, "number": number, "state": TrialState.RUNNING.value}
    connection.execute(insert(tables.attempt).values(**begun, log=log(number), started_at=now))
    return number


def _is_claimed(connection: Connection, trial_id: str, number: int | None, now: datetime) -> bool:
    """Whether the attempt of this number is the one that began at this moment."""
    attempt = tables.attempt.c
    same = (attempt.trial_id == trial_id, attempt.number == number, attempt.started_at == now)
    return number is None or _is_there(connection, *same)


def _assign_gang(
    connection: Connection,
    trial_id: str,
    attempt: int,
    gang: GangRecord,
    values: Mapping[str, Any],
    *,
    oversubscribed: bool,
    keep: bool,
) -> None:
    """Record the gang of an attempt with these values, and the trial's mark; the gang itself where it is new."""
    if oversubscribed or not keep:
        # The mark of one that is repeated is that of the result which it keeps.
        columns, keeps = tables.trial.c, statements.keeps_result()
        trial = update(tables.trial).where(columns.id == trial_id, columns.attempt == attempt, not_(keeps))
        connection.execute(trial.values(oversubscribed=oversubscribed))
    insert_new = _INSERT[connection.dialect.name](tables.gang).on_conflict_do_nothing()
    connection.execute(insert_new.values(**asdict(gang)))
    connection.execute(statements.attempt_update(trial_id, attempt).values(**values))


def _is_reported(connection: Connection, table: Table, trial_id: str, attempt: int, step: int) -> bool:
    """Whether an attempt has reported something, a loss point or an evaluation, at this step."""
    return _is_there(connection, table.c.trial_id == trial_id, table.c.attempt == attempt, table.c.step == step)


def _is_there(connection: Connection, *conditions: Any) -> bool:
    return bool(connection.execute(select(exists().where(*conditions))).scalar())
