"""What live pages ask a store for several times a second: counts, what runs, what is new; never a whole curve."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, case, func, select

from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.store import rows, statements, tables
from sweeper.store.transactions import Transactions


class AttemptTime(NamedTuple):
    """How long an attempt at a trial of so many workers took, in seconds with its seats, and when it ended."""

    workers: int
    seconds: float
    ended_at: datetime


class RunningTrial(NamedTuple):
    """A trial that runs, in which attempt, and for how many seconds by now."""

    trial: str
    attempt: int
    workers: int
    seconds: float


class Progress:
    """How far sweeps are; each method is one transaction, as the store's own are."""

    def __init__(self, transactions: Transactions) -> None:
        self._read = transactions.read

    def counts(self, sweep_id: str) -> dict[tuple[int, TrialState], int]:
        """The number of trials by workers and state."""
        trial = tables.trial.c
        query = (
            select(trial.workers, trial.state, func.count())
            .where(trial.sweep_id == sweep_id)
            .group_by(trial.workers, trial.state)
        )
        found = self._read(lambda connection: connection.execute(query).all())
        return {(workers, TrialState(state)): count for workers, state, count in found}

    def states(self, sweep_id: str) -> dict[TrialState, int]:
        """The number of trials by state: from an index alone."""
        trial = tables.trial.c
        query = select(trial.state, func.count()).where(trial.sweep_id == sweep_id).group_by(trial.state)
        return {
            TrialState(state): count for state, count in self._read(lambda connection: connection.execute(query).all())
        }

    def held(self, sweep_id: str) -> int:
        """The number of trials that run under a live lease."""
        query = select(func.count()).where(tables.trial.c.sweep_id == sweep_id, statements.is_held())
        return self._read(lambda connection: connection.execute(query).scalar()) or 0

    def running(self, sweep_id: str) -> list[RunningTrial]:
        """The trials that run, in the order of the plan."""
        trial, attempt = tables.trial.c, tables.attempt.c
        query = (
            select(trial.id, trial.attempt, trial.workers, attempt.started_at)
            .join(tables.attempt, (attempt.trial_id == trial.id) & (attempt.number == trial.attempt))
            .where(trial.sweep_id == sweep_id, trial.state == TrialState.RUNNING.value)
            .order_by(trial.position)
        )
        now = datetime.now(UTC)
        return [
            RunningTrial(id_, number, workers, max(0.0, (now - started).total_seconds()))
            for id_, number, workers, started in self._read(lambda connection: connection.execute(query).all())
        ]

    def last_attempts(self, sweep_id: str, most: int) -> list[AttemptTime]:
        """The attempts that ended last, the latest first, at most so many; those of trials that wait again are none."""
        trial, attempt = tables.trial.c, tables.attempt.c
        over = [state.value for state in TrialState if state.ended]
        query = (
            select(trial.workers, attempt.started_at, attempt.ended_at)
            .join(tables.trial, (attempt.trial_id == trial.id) & (attempt.number == trial.attempt))
            .where(trial.sweep_id == sweep_id, trial.state.in_(over), attempt.ended_at.is_not(None))
            .order_by(attempt.ended_at.desc())
            .limit(most)
        )
        found = self._read(lambda connection: connection.execute(query).all())
        return [AttemptTime(workers, max(0.0, (end - start).total_seconds()), end) for workers, start, end in found]

    def given_up(self, sweep_id: str) -> tuple[int, int]:
        """How many trials were pruned without ever having begun, and how many have ended otherwise."""
        trial = tables.trial.c
        over = [state.value for state in TrialState if state.ended and state is not TrialState.CANCELLED]
        never_begun = func.sum(case(((trial.state == TrialState.PRUNED.value) & (trial.attempt == 0), 1), else_=0))
        query = select(never_begun, func.count()).where(trial.sweep_id == sweep_id, trial.state.in_(over))
        found, ended = self._read(lambda connection: connection.execute(query).one())
        return int(found or 0), int(ended) - int(found or 0)

    def last_step(self, trial_id: str, attempt: int) -> int:
        """The last step that an attempt has reported; 0 where there is none."""
        table = tables.loss_point
        query = select(func.max(table.c.step)).where(table.c.trial_id == trial_id, table.c.attempt == attempt)
        return self._read(lambda connection: connection.execute(query).scalar()) or 0

    def points_after(self, trials: Mapping[str, tuple[int, int]]) -> dict[str, list[LossPoint]]:
        """New loss points of trials, each given with its attempt and the last step that is known; those with any."""
        table = tables.loss_point

        def read(connection: Connection) -> dict[str, list[LossPoint]]:
            found: dict[str, list[LossPoint]] = {}
            for trial_id, (attempt, step) in trials.items():
                query = (
                    select(table)
                    .where(table.c.trial_id == trial_id, table.c.attempt == attempt, table.c.step > step)
                    .order_by(table.c.step)
                )
                found[trial_id] = [rows.loss_point(row) for row in connection.execute(query).mappings()]
            return {trial_id: points for trial_id, points in found.items() if points}

        return self._read(read)
