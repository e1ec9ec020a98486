"""The store's interface: what the scheduler writes and everybody reads."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from sweeper.curve import CurveSummary, LossPoint
from sweeper.errors import LostTrialError, NotFoundError, StoreError
from sweeper.names import LATEST
from sweeper.ranking import Candidate
from sweeper.spec import SweepSpec
from sweeper.store import leases, lifecycle, rows, statements, tables
from sweeper.store.connection import connect, hidden
from sweeper.store.records import (
    AttemptRecord,
    EvaluationRecord,
    GangRecord,
    SchedulerRecord,
    SweepRecord,
    TrialRecord,
)
from sweeper.trial import TrialSpec, TrialState

DEFAULT_URL = "sqlite:///sweeper.db"
_INSERT: dict[str, Callable[..., Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def open_store(url: str = DEFAULT_URL, *, create: bool = True) -> Store:
    """The store at a SQLAlchemy URL; where there is none it is made, or refused without `create`.

    Raises:
        StoreError: see `sweeper.store.connection.connect`.
    """
    return Store(connect(url, create=create), hidden(url))


class Store:
    """Sweeps, trials, attempts and curves.

    Every method is one transaction, callable from any thread and from many processes at once. Raises StoreError when
    the database refuses, with what it said.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self.name = name

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OverflowError, UnicodeError) as error:  # the latter two from SQLite's own driver
            cause = " ".join(str(getattr(error, "orig", None) or error).split())
            raise StoreError(
                f"store {self.name}: {cause}", "check the disk, the permissions and the server; what is written stays"
            ) from error

    # Sweeps

    def add_sweep(self, spec: SweepSpec, trials: Sequence[TrialSpec]) -> str:
        """Record a sweep and its trials, all pending; returns the sweep's id."""
        sweep_id = secrets.token_hex(4)
        objective = spec.objective
        with self._transaction() as connection:
            connection.execute(
                insert(tables.sweep).values(
                    id=sweep_id,
                    name=spec.name,
                    origin="run",
                    spec=spec.model_dump(mode="json"),
                    threshold=objective.threshold,
                    over=objective.over,
                    group_by=list(objective.group_by),
                    created_at=datetime.now(UTC),
                )
            )
            connection.execute(
                insert(tables.trial),
                [statements.new_trial(sweep_id, position, trial) for position, trial in enumerate(trials)],
            )
        return sweep_id

    def add_import(
        self, name: str, curves: Sequence[tuple[dict[str, Any], str, Sequence[LossPoint], CurveSummary]]
    ) -> str:
        """Record finished curves from elsewhere as a sweep: parameters, source, points and summary of each.

        A curve with a loss that is not finite is a diverged trial. All or nothing; returns the sweep's id.
        """
        sweep_id, now = secrets.token_hex(4), datetime.now(UTC)
        with self._transaction() as connection:
            connection.execute(
                insert(tables.sweep).values(
                    id=sweep_id,
                    name=name,
                    origin="import",
                    spec=None,
                    threshold=None,
                    over="seconds",
                    group_by=["workers"],
                    created_at=now,
                )
            )
            for position, (parameters, source, points, summary) in enumerate(curves):
                trial_id = f"{sweep_id}-{position:04d}"
                state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
                connection.execute(
                    insert(tables.trial).values(
                        id=trial_id,
                        sweep_id=sweep_id,
                        position=position,
                        workers=parameters["workers"],
                        parameters=parameters,
                        config={},
                        resources={},
                        state=state.value,
                        reason=f"imported from {source}",
                        attempt=1,
                        **asdict(summary),
                    )
                )
                connection.execute(
                    insert(tables.attempt).values(
                        trial_id=trial_id, number=1, state=state.value, log=source, started_at=now, ended_at=now
                    )
                )
                statements.insert_points(connection, trial_id, 1, points)
        return sweep_id

    def sweeps(self) -> list[SweepRecord]:
        """All sweeps, newest first."""
        with self._transaction() as connection:
            order = (tables.sweep.c.created_at.desc(), tables.sweep.c.id)
            found = connection.execute(select(tables.sweep).order_by(*order)).mappings().all()
            counts = statements.state_counts(connection)
        return [rows.sweep_record(row, *counts.get(row["id"], ({}, 0))) for row in found]

    def find_sweep(self, reference: str) -> SweepRecord:
        """The sweep with this id, else the newest of this name, else the one whose id begins so.

        "latest" is the newest of all.

        Raises:
            NotFoundError: there is none, or the beginning fits several.
        """
        sweeps = self.sweeps()
        if reference == LATEST and sweeps:
            return sweeps[0]
        found = [s for s in sweeps if s.id == reference] or [s for s in sweeps if s.name == reference][:1]
        if not found and reference:
            found = [s for s in sweeps if s.id.startswith(reference)]
        if len(found) == 1:
            return found[0]
        problem = "fits several sweeps" if found else "no such sweep"
        raise NotFoundError(
            f"sweep {reference!r}: {problem} in {self.name}", "`sweeper list` shows their ids and names"
        )

    # Trials

    def trials(self, sweep_id: str, states: Sequence[TrialState] = ()) -> list[TrialRecord]:
        """The trials of a sweep in the order of its plan, those in `states` where given; reads no points."""
        query = select(tables.trial).where(tables.trial.c.sweep_id == sweep_id).order_by(tables.trial.c.position)
        if states:
            query = query.where(tables.trial.c.state.in_(state.value for state in states))
        with self._transaction() as connection:
            return [rows.trial_record(row) for row in connection.execute(query).mappings()]

    def candidates(self, sweep_id: str, over: str, *, oversubscribed: bool = False) -> list[Candidate]:
        """The trials of a sweep as rankings and heatmaps need them: what of `trials` is over one axis, much faster.

        With `oversubscribed` such trials have their areas over seconds, too.
        """
        with self._transaction() as connection:
            query = statements.candidates_of(sweep_id, over, oversubscribed=oversubscribed)
            return rows.candidates(connection.execute(query).all())

    def claim(
        self, trial_id: str, log: Callable[[int], str] = lambda _: "", scheduler_id: str | None = None
    ) -> int | None:
        """Take a pending trial for running; the number of its new attempt, or None where somebody else was first.

        None also where its sweep is to be stopped.

        `log` gives the path of an attempt's log, as it will be if a new gang serves it. Without a scheduler that has a
        lease the trial counts as left behind.
        """
        with self._transaction() as connection:
            claimed = connection.execute(
                statements.advance(
                    trial_id,
                    TrialState.RUNNING,
                    attempt=tables.trial.c.attempt + 1,
                    reason="",
                    scheduler_id=scheduler_id,
                ).where(statements.goes_on())
            )
            if not claimed.rowcount:
                return None
            number = int(
                connection.execute(select(tables.trial.c.attempt).where(tables.trial.c.id == trial_id)).scalar_one()
            )
            connection.execute(
                insert(tables.attempt).values(
                    trial_id=trial_id,
                    number=number,
                    state=TrialState.RUNNING.value,
                    log=log(number),
                    started_at=datetime.now(UTC),
                )
            )
        return number

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
    ) -> None:
        """End a running trial; its points are in already, its phases (total seconds by name) come with this.

        Raises:
            LostTrialError: the trial is not running in this attempt; an ended trial is never rewritten.
        """
        with self._transaction() as connection:
            ended = connection.execute(
                statements.advance(trial_id, state, reason=reason, **asdict(summary)).where(
                    tables.trial.c.attempt == attempt
                )
            )
            if not ended.rowcount:
                raise LostTrialError(
                    f"trial {trial_id} is not running in attempt {attempt}", "an ended trial stays as it is"
                )
            statements.end_attempt(connection, trial_id, attempt, state.value, reason, traceback)
            if phases:
                shared = {"trial_id": trial_id, "attempt": attempt}
                connection.execute(
                    insert(tables.phase), [{**shared, "name": name, "seconds": s} for name, s in phases.items()]
                )

    def release(
        self, trial_id: str, attempt: int, reason: str, outcome: str = "interrupted", traceback: str = ""
    ) -> None:
        """Put a running trial back to pending; what the attempt reported, and its `outcome`, stay with the attempt."""
        with self._transaction() as connection:
            statements.release(connection, trial_id, attempt, reason, outcome=outcome, traceback=traceback)

    # Who runs what

    def add_scheduler(self, host: str, process: str) -> str:
        """Begin a lease of a minute for a process on a host, in the words of `sweeper.owner`; its id."""
        with self._transaction() as connection:
            return leases.add_scheduler(connection, host, process)

    def renew_lease(self, scheduler_id: str) -> bool:
        """Let a lease run for a minute from now on; False where it ended so long ago that it has been forgotten."""
        with self._transaction() as connection:
            return leases.renew(connection, scheduler_id)

    def held(self, scheduler_id: str) -> dict[str, int]:
        """The trials that run under a lease, each with its attempt."""
        with self._transaction() as connection:
            return leases.held(connection, scheduler_id)

    def end_lease(self, scheduler_id: str) -> None:
        """Give a lease up; what its holder still runs counts as left behind."""
        with self._transaction() as connection:
            leases.end(connection, scheduler_id)

    def release_left_behind(self, sweep_id: str, is_gone: Callable[[SchedulerRecord], bool]) -> list[str]:
        """Put trials back to pending that run under no live lease, or whose scheduler `is_gone`; their ids."""
        with self._transaction() as connection:
            return leases.release_left_behind(connection, sweep_id, is_gone)

    # What becomes of a sweep

    def ask_to_stop(self, sweep_id: str) -> int:
        """Cancel what waits, and have schedulers stop what runs; how many were cancelled at once."""
        with self._transaction() as connection:
            return lifecycle.ask_to_stop(connection, sweep_id)

    def stop_is_asked(self, sweep_id: str) -> bool:
        """Whether schedulers shall stop the sweep's running trials; so too where it has been deleted."""
        with self._transaction() as connection:
            return lifecycle.stop_is_asked(connection, sweep_id)

    def forget_stop(self, sweep_id: str) -> None:
        """Let a sweep that was stopped go on with what is added to it, or tried again."""
        with self._transaction() as connection:
            lifecycle.forget_stop(connection, sweep_id)

    def try_failed_again(self, sweep_id: str) -> int:
        """Put failed trials back to pending, for another attempt each; how many."""
        with self._transaction() as connection:
            return lifecycle.try_failed_again(connection, sweep_id)

    def extend(self, sweep_id: str, trials: Sequence[TrialSpec]) -> list[TrialSpec]:
        """Add the trials that the sweep has not yet, behind its others; these."""
        with self._transaction() as connection:
            return lifecycle.extend(connection, sweep_id, trials)

    def delete_sweep(self, sweep_id: str) -> None:
        """Remove a sweep with all that was recorded of it."""
        with self._transaction() as connection:
            lifecycle.delete_sweep(connection, sweep_id)

    # What attempts report

    def add_points(self, trial_id: str, attempt: int, points: Sequence[LossPoint]) -> None:
        """Append loss points of an attempt, in one bulk insert."""
        if points:
            with self._transaction() as connection:
                statements.insert_points(connection, trial_id, attempt, points)

    def points(self, trial_id: str, attempt: int | None = None) -> list[LossPoint]:
        """The curve of an attempt, of the latest where none is given."""
        query = statements.of_attempt(tables.loss_point, trial_id, attempt)
        with self._transaction() as connection:
            return [rows.loss_point(row) for row in connection.execute(query).mappings()]

    def add_evaluation(self, trial_id: str, attempt: int, evaluation: EvaluationRecord) -> None:
        """Record an evaluation of an attempt; as with loss points, a step has one and no second."""
        values = {"trial_id": trial_id, "attempt": attempt, **asdict(evaluation)}
        with self._transaction() as connection:
            connection.execute(insert(tables.evaluation).values(values))

    def evaluations(self, trial_id: str, attempt: int | None = None) -> list[EvaluationRecord]:
        """The evaluations of an attempt in the order of their steps, of the latest attempt where none is given."""
        query = statements.of_attempt(tables.evaluation, trial_id, attempt)
        with self._transaction() as connection:
            return [rows.evaluation_record(row) for row in connection.execute(query).mappings()]

    def evaluations_by_trial(self, sweep_id: str) -> dict[str, list[EvaluationRecord]]:
        """The evaluations of a sweep's trials by trial, each in the order of its steps; only trials that have some.

        They are those of each trial's latest attempt; what waits for another attempt has none. One query.
        """
        found: dict[str, list[EvaluationRecord]] = {}
        with self._transaction() as connection:
            for row in connection.execute(statements.evaluations_of(sweep_id)).mappings():
                found.setdefault(row["trial_id"], []).append(rows.evaluation_record(row))
        return found

    def last_evaluations(self, sweep_id: str) -> dict[str, EvaluationRecord]:
        """The last of each trial's evaluations, of the trials that `evaluations_by_trial` has. One query."""
        with self._transaction() as connection:
            found = connection.execute(statements.last_evaluations_of(sweep_id)).mappings()
            return {row["trial_id"]: rows.evaluation_record(row) for row in found}

    def start_attempt(
        self, trial_id: str, attempt: int, startup_seconds: float, setup_seconds: float, effective: Mapping[str, Any]
    ) -> None:
        """Record that set-up is over: how long gang and engine took, and what the engine chose."""
        with self._transaction() as connection:
            connection.execute(
                statements.attempt_update(trial_id, attempt).values(
                    startup_seconds=startup_seconds, setup_seconds=setup_seconds, effective=dict(effective)
                )
            )

    def assign_gang(
        self, trial_id: str, attempt: int, gang: GangRecord, log: str, oversubscribed: bool | None = None
    ) -> None:
        """Record the MPI job that serves an attempt, and its log; the gang itself only the first time it is named.

        Also whether the trial is `oversubscribed`, where that has changed.
        """
        with self._transaction() as connection:
            insert_new = _INSERT[connection.dialect.name](tables.gang).on_conflict_do_nothing()
            connection.execute(insert_new.values(**asdict(gang)))
            connection.execute(statements.attempt_update(trial_id, attempt).values(gang_id=gang.id, log=log))
            if oversubscribed is not None:
                trial = update(tables.trial).where(tables.trial.c.id == trial_id, tables.trial.c.attempt == attempt)
                connection.execute(trial.values(oversubscribed=oversubscribed))

    def gangs(self, sweep_id: str) -> list[GangRecord]:
        """The gangs of a sweep, first to last."""
        query = select(tables.gang).where(tables.gang.c.sweep_id == sweep_id).order_by(tables.gang.c.started_at)
        with self._transaction() as connection:
            return [rows.gang_record(row) for row in connection.execute(query).mappings()]

    def attempts(self, trial_id: str) -> list[AttemptRecord]:
        """The attempts at a trial, first to last."""
        query = select(tables.attempt).where(tables.attempt.c.trial_id == trial_id).order_by(tables.attempt.c.number)
        with self._transaction() as connection:
            return [rows.attempt_record(row) for row in connection.execute(query).mappings()]

    def phases(self, trial_id: str, attempt: int) -> dict[str, float]:
        """Total seconds by phase of an attempt."""
        table = tables.phase
        query = select(table.c.name, table.c.seconds).where(table.c.trial_id == trial_id, table.c.attempt == attempt)
        with self._transaction() as connection:
            return {row.name: row.seconds for row in connection.execute(query)}
