"""The store's interface: what the scheduler writes and everybody reads."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, RowMapping, Select, insert, select

from sweeper.errors import NotFoundError
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.spec import SweepSpec
from sweeper.store import attempts, leases, lifecycle, rows, statements, sweeps, tables
from sweeper.store.collecting import collection_paused
from sweeper.store.connection import connect, hidden
from sweeper.store.progress import Progress
from sweeper.store.records import (
    AttemptRecord,
    EvaluationRecord,
    GangRecord,
    SchedulerRecord,
    SweepRecord,
    TrialRecord,
)
from sweeper.store.submissions import Submissions
from sweeper.store.transactions import Transactions
from sweeper.store.views import Views

DEFAULT_URL = "sqlite:///sweeper.db"


def open_store(url: str = DEFAULT_URL, *, create: bool = True) -> Store:
    """The store at a SQLAlchemy URL; where there is none it is made, or refused without `create`.

    Raises:
        StoreError: see `sweeper.store.connection.connect`.
    """
    return Store(connect(url, create=create), hidden(url))


class Store:
    """Sweeps, trials, attempts and curves; `submissions` are the sweeps of services.

    `progress` is for live pages, `views` has what else pages ask for.

    Every method is one transaction, callable from any thread and from many processes at once. While the database is
    away or busy a method waits for most of a minute; what was recorded before it went is not recorded twice. Raises
    StoreError when the database refuses, or stays away, with what it said.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine, self.name = engine, name
        self.transactions = Transactions(engine, name)  # for what else in this package reads and writes
        self._read, self._write = self.transactions.read, self.transactions.write
        self.submissions, self.progress = Submissions(self.transactions), Progress(self.transactions)
        self.views = Views(self.transactions)

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    # Sweeps

    def add_sweep(self, spec: SweepSpec, trials: Sequence[TrialSpec]) -> str:
        """Record a sweep and its trials, all pending; returns the sweep's id."""
        sweep_id = secrets.token_hex(4)
        self._write(
            lambda connection: sweeps.add(connection, sweep_id, spec, trials),
            lambda connection, _: sweeps.is_there(connection, sweep_id),
        )
        return sweep_id

    def add_import(self, name: str, curves: Sequence[sweeps.Curve]) -> str:
        """Record finished curves from elsewhere as a sweep: parameters, source, points and summary of each.

        A curve with a loss that is not finite is a diverged trial. All or nothing; returns the sweep's id.
        """
        sweep_id = secrets.token_hex(4)
        self._write(
            lambda connection: sweeps.add_import(connection, sweep_id, name, curves),
            lambda connection, _: sweeps.is_there(connection, sweep_id),
        )
        return sweep_id

    def sweeps(self) -> list[SweepRecord]:
        """All sweeps, newest first."""
        return self._read(sweeps.all_of_them)

    def find_sweep(self, reference: str) -> SweepRecord:
        """The sweep with this id, else the newest of this name, else the one whose id begins so.

        "latest" is the newest of all.

        Raises:
            NotFoundError: there is none, or the beginning fits several.
        """
        return self._read(lambda connection: sweeps.one(connection, reference)) or sweeps.find(
            self.sweeps(), reference, self.name
        )

    # Trials

    def trials(self, sweep_id: str, states: Sequence[TrialState] = ()) -> list[TrialRecord]:
        """The trials of a sweep in the order of its plan, those in `states` where given; reads no points."""
        query = select(tables.trial).where(tables.trial.c.sweep_id == sweep_id).order_by(tables.trial.c.position)
        if states:
            query = query.where(tables.trial.c.state.in_(state.value for state in states))
        return [rows.trial_record(row) for row in self._all(query)]

    def find_trial(self, trial_id: str) -> TrialRecord:
        """The trial with this id. Raises NotFoundError where there is none."""
        found = self._all(select(tables.trial).where(tables.trial.c.id == trial_id))
        if not found:
            raise NotFoundError(
                f"trial {trial_id!r}: no such trial in {self.name}", "`sweeper show SWEEP` lists a sweep's"
            )
        return rows.trial_record(found[0])

    def candidates(self, sweep_id: str, over: str, *, oversubscribed: bool = False) -> list[Candidate]:
        """The trials of a sweep as rankings and heatmaps need them: what of `trials` is over one axis, much faster.

        With `oversubscribed` such trials have their areas over seconds, too.
        """
        query = statements.candidates_of(sweep_id, over, oversubscribed=oversubscribed)
        with collection_paused():
            return self._read(lambda connection: rows.candidates(connection.execute(query).all()))

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
            lambda connection: attempts.claim(connection, trial_id, log, scheduler_id, now),
            lambda connection, number: attempts.is_claimed(connection, trial_id, number, now),
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
    ) -> None:
        """End a running trial; its points are in already, its phases (total seconds by name) come with this.

        It counts as `oversubscribed` from now on where that is said here, and as `derived_from` another trial where its
        losses are that one's.

        Raises:
            LostTrialError: the trial is not running in this attempt; an ended trial is never rewritten.
        """
        self._write(
            lambda connection: attempts.finish(
                connection,
                trial_id,
                attempt,
                state,
                summary,
                reason,
                traceback,
                phases or {},
                oversubscribed,
                derived_from,
            ),
            lambda connection, _: attempts.is_finished(connection, trial_id, attempt, state),
        )

    def give_up(self, trial_id: str, reason: str) -> bool:
        """Prune a trial that waits, without an attempt; False where it does not wait any more."""
        return self._write(
            lambda connection: attempts.give_up(connection, trial_id, reason),
            lambda connection, given_up: given_up and attempts.is_given_up(connection, trial_id, reason),
        )

    def release(
        self, trial_id: str, attempt: int, reason: str, outcome: str = "interrupted", traceback: str = ""
    ) -> None:
        """Put a running trial back to pending; what the attempt reported, and its `outcome`, stay with the attempt."""
        self._write(
            lambda connection: statements.release(
                connection, trial_id, attempt, reason, outcome=outcome, traceback=traceback
            )
        )

    # Who runs what

    def add_scheduler(self, host: str, process: str) -> str:
        """Begin a lease of a minute for a process on a host, as `sweeper.gangs.process_identity` names them; its id."""
        scheduler_id = secrets.token_hex(6)
        self._write(
            lambda connection: leases.add_scheduler(connection, scheduler_id, host, process),
            lambda connection, _: leases.renew(connection, scheduler_id),
        )
        return scheduler_id

    def renew_lease(self, scheduler_id: str) -> bool:
        """Let a lease run for a minute from now on; False where it ended so long ago that it has been forgotten."""
        return self._write(lambda connection: leases.renew(connection, scheduler_id))

    def held(self, scheduler_id: str) -> dict[str, int]:
        """The trials that run under a lease, each with its attempt."""
        return self._read(lambda connection: leases.held(connection, scheduler_id))

    def end_lease(self, scheduler_id: str) -> None:
        """Give a lease up; what its holder still runs counts as left behind."""
        self._write(lambda connection: leases.end(connection, scheduler_id))

    def release_left_behind(self, sweep_id: str, is_gone: Callable[[SchedulerRecord], bool]) -> list[str]:
        """Put trials back to pending that run under no live lease, or whose scheduler `is_gone`; their ids."""
        return self._write(lambda connection: leases.release_left_behind(connection, sweep_id, is_gone))

    # What becomes of a sweep

    def ask_to_stop(self, sweep_id: str) -> int:
        """Cancel what waits, and have schedulers stop what runs; how many were cancelled at once."""
        return self._write(lambda connection: lifecycle.ask_to_stop(connection, sweep_id))

    def stop_is_asked(self, sweep_id: str) -> bool:
        """Whether schedulers shall stop the sweep's running trials; so too where it has been deleted."""
        return self._read(lambda connection: lifecycle.stop_is_asked(connection, sweep_id))

    def forget_stop(self, sweep_id: str) -> None:
        """Let a sweep that was stopped go on with what is added to it, or tried again."""
        self._write(lambda connection: lifecycle.forget_stop(connection, sweep_id))

    def try_failed_again(self, sweep_id: str) -> int:
        """Put failed trials back to pending, for another attempt each; how many."""
        return self._write(lambda connection: lifecycle.try_failed_again(connection, sweep_id))

    def extend(self, sweep_id: str, trials: Sequence[TrialSpec], most: int | None = None) -> list[TrialSpec]:
        """Add the trials that the sweep has not yet, behind its others; these. None where it would have over `most`."""
        return self._write(
            lambda connection: lifecycle.extend(connection, sweep_id, trials, most),
            lambda connection, new: not lifecycle.missing(connection, sweep_id, new),
        )

    def delete_sweep(self, sweep_id: str) -> None:
        """Remove a sweep with all that was recorded of it."""
        self._write(lambda connection: lifecycle.delete_sweep(connection, sweep_id))

    # What attempts report

    def add_points(self, trial_id: str, attempt: int, points: Sequence[LossPoint]) -> None:
        """Append loss points of an attempt, all or none, in one bulk insert."""
        if points:
            table, step = tables.loss_point, points[-1].step
            self._write(
                lambda connection: statements.insert_points(connection, trial_id, attempt, points),
                lambda connection, _: attempts.is_reported(connection, table, trial_id, attempt, step),
            )

    def points(self, trial_id: str, attempt: int | None = None) -> list[LossPoint]:
        """The curve of an attempt, of the latest where none is given."""
        return [rows.loss_point(row) for row in self._all(statements.of_attempt(tables.loss_point, trial_id, attempt))]

    def add_evaluation(self, trial_id: str, attempt: int, evaluation: EvaluationRecord) -> None:
        """Record an evaluation of an attempt; as with loss points, a step has one and no second."""
        table = tables.evaluation
        values = {"trial_id": trial_id, "attempt": attempt, **asdict(evaluation)}
        self._write(
            lambda connection: connection.execute(insert(table).values(values)),
            lambda connection, _: attempts.is_reported(connection, table, trial_id, attempt, evaluation.step),
        )

    def evaluations(self, trial_id: str, attempt: int | None = None) -> list[EvaluationRecord]:
        """The evaluations of an attempt in the order of their steps, of the latest attempt where none is given."""
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

    def last_evaluations(self, sweep_id: str) -> dict[str, EvaluationRecord]:
        """The last of each trial's evaluations, of the trials that `evaluations_by_trial` has. One query."""
        found = self._all(statements.last_evaluations_of(sweep_id))
        return {row["trial_id"]: rows.evaluation_record(row) for row in found}

    def start_attempt(
        self, trial_id: str, attempt: int, startup_seconds: float, setup_seconds: float, effective: Mapping[str, Any]
    ) -> None:
        """Record that set-up is over: how long gang and engine took, and what the engine chose."""
        started = {"startup_seconds": startup_seconds, "setup_seconds": setup_seconds, "effective": dict(effective)}
        update = statements.attempt_update(trial_id, attempt).values(**started)
        self._write(lambda connection: connection.execute(update))

    def assign_gang(
        self,
        trial_id: str,
        attempt: int,
        gang: GangRecord,
        log: str,
        *,
        oversubscribed: bool = False,
        keep: bool = False,
    ) -> None:
        """Record the MPI job that serves an attempt, and its log; the gang itself only the first time it is named.

        Also whether the trial is `oversubscribed`; with `keep` one that was marked before stays so.
        """
        marks = {"oversubscribed": oversubscribed, "keep": keep}
        self._write(lambda connection: attempts.assign_gang(connection, trial_id, attempt, gang, log, **marks))

    def gangs(self, sweep_id: str) -> list[GangRecord]:
        """The gangs of a sweep, first to last."""
        query = select(tables.gang).where(tables.gang.c.sweep_id == sweep_id).order_by(tables.gang.c.started_at)
        return [rows.gang_record(row) for row in self._all(query)]

    def attempts(self, trial_id: str) -> list[AttemptRecord]:
        """The attempts at a trial, first to last."""
        query = select(tables.attempt).where(tables.attempt.c.trial_id == trial_id).order_by(tables.attempt.c.number)
        return [rows.attempt_record(row) for row in self._all(query)]

    def attempt_seconds(self, sweep_id: str) -> dict[str, float]:
        """Seconds that the attempts at each trial took together, from claim to end, those that run up to now."""
        now = datetime.now(UTC)
        found: dict[str, float] = {}
        for row in self._all(statements.attempt_times_of(sweep_id)):
            took = (row["ended_at"] or now) - row["started_at"]
            found[row["trial_id"]] = found.get(row["trial_id"], 0.0) + max(0.0, took.total_seconds())
        return found

    def phases(self, trial_id: str, attempt: int) -> dict[str, float]:
        """Total seconds by phase of an attempt."""
        table = tables.phase
        query = select(table.c.name, table.c.seconds).where(table.c.trial_id == trial_id, table.c.attempt == attempt)
        return {row["name"]: row["seconds"] for row in self._all(query)}

    def _all(self, query: Select[Any]) -> Sequence[RowMapping]:
        return self._read(lambda connection: connection.execute(query).mappings().all())
