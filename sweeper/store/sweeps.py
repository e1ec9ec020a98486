"""Sweeps: submitted, imported, listed, found, and what becomes of them: stopped, extended, tried again, deleted."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, or_, select, update

from sweeper.errors import NotFoundError
from sweeper.plan import WrittenTrial, written_trials
from sweeper.plan.trial import KEEPING, KEPT, TrialSpec, TrialState, predecessors
from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.spec import SweepSpec
from sweeper.spec.sweep_name import LATEST
from sweeper.store import rows, statements, tables
from sweeper.store.new_trials import insert_trials, trial_id
from sweeper.store.records import SweepRecord
from sweeper.store.transactions import Transactions

TO_BE_REPEATED = "to be trained again; it keeps its result meanwhile"
_NONE = statements.Counts({}, begun=False, held=0)  # of a sweep without trials
_AT_ONCE = 500  # values in one statement; SQLite takes a limited number
ImportedCurve = tuple[dict[str, Any], str, Sequence[LossPoint], CurveSummary]  # parameters, source, points, summary


class Sweeps:
    """The sweeps of a store, as `Store` says."""

    def __init__(self, transactions: Transactions, store_name: str) -> None:
        self._read, self._write = transactions.read, transactions.write
        self._store_name = store_name

    def add(self, spec: SweepSpec, trials: Sequence[TrialSpec]) -> str:
        """Record a sweep and its trials, all pending; returns the sweep's id."""
        sweep_id = secrets.token_hex(4)
        self._write(
            lambda connection: add_sweep(connection, sweep_id, spec, trials),
            lambda connection, _: is_there(connection, sweep_id),
        )
        return sweep_id

    def add_import(
        self,
        name: str,
        curves: Sequence[ImportedCurve],
        told: Sequence[Mapping[str, Any]] | None = None,
        over: str = "seconds",
    ) -> str:
        """Record finished curves from elsewhere as a sweep: parameters, source, points and summary of each.

        They are ranked `over` an axis. What is `told` of each is kept with its attempt. A curve with a loss that is
        not finite is a diverged trial. All or nothing; returns the sweep's id.
        """
        told = told or [{}] * len(curves)
        sweep_id = secrets.token_hex(4)
        self._write(
            lambda connection: _add_import(connection, sweep_id, name, curves, told, over),
            lambda connection, _: is_there(connection, sweep_id),
        )
        return sweep_id

    def all(self) -> list[SweepRecord]:
        """All sweeps, newest first."""
        return self._read(_all_sweeps)

    def find(self, reference: str) -> SweepRecord:
        """The sweep with this id, else the newest of this name, else the one whose id begins so.

        "latest" is the newest of all.

        Raises:
            NotFoundError: there is none, or the beginning fits several.
        """
        words = _as_text(reference)
        return self._read(lambda connection: _of_id(connection, words)) or self._find(words)

    def _find(self, reference: str) -> SweepRecord:
        sweeps = self.all()
        if reference == LATEST and sweeps:
            return sweeps[0]
        found = [s for s in sweeps if s.id == reference] or [s for s in sweeps if s.name == reference][:1]
        if not found and reference:
            found = [s for s in sweeps if s.id.startswith(reference)]
        if len(found) == 1:
            return found[0]
        problem = "fits several sweeps" if found else "no such sweep"
        raise NotFoundError(
            f"sweep {reference!r}: {problem} in {self._store_name}", "`sweeper list` shows their ids and names"
        )

    def extend(self, sweep_id: str, trials: Sequence[TrialSpec], most: int | None = None) -> int:
        """Add the trials that the sweep has not yet, behind its others; how many.

        None where it would have over `most`.
        """

        def extend(connection: Connection) -> int:
            trial = tables.trial.c
            # Whoever adds waits here for who adds at the same time: positions and `most` are of all.
            connection.execute(select(tables.sweep.c.id).where(tables.sweep.c.id == sweep_id).with_for_update())
            if most is not None:
                there = connection.execute(select(func.count()).where(trial.sweep_id == sweep_id)).scalar_one()
                if there + sum(1 for _ in _missing(connection, sweep_id, trials)) > most:
                    return 0
            last = connection.execute(select(func.max(trial.position)).where(trial.sweep_id == sweep_id)).scalar() or 0
            return insert_trials(connection, sweep_id, _missing(connection, sweep_id, trials), last + 1)

        def is_recorded(connection: Connection, added: int) -> bool:
            return not added or not any(_missing(connection, sweep_id, trials))

        return self._write(extend, is_recorded)

    def change_spec(self, sweep_id: str, spec: SweepSpec) -> None:
        """Have a sweep's search go on by another spec; threshold, axis and groups of the sweep stay."""
        written = {"spec": spec.model_dump(mode="json")}
        changed = update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(**written)
        self._write(lambda connection: connection.execute(changed))

    def ask_to_stop(self, sweep_id: str) -> int:
        """Cancel what waits, and have schedulers stop what runs; how many were cancelled at once.

        Trials that wait to be repeated return to the results that they keep.
        """

        def ask(connection: Connection) -> int:
            asked = update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(stop_asked_at=datetime.now(UTC))
            connection.execute(asked)
            _restore_waiting(connection, sweep_id)
            why = "stopped before it began"
            return _move(connection, sweep_id, TrialState.PENDING, TrialState.CANCELLED, reason=why)

        return self._write(ask)

    def stop_is_asked(self, sweep_id: str) -> bool:
        """Whether schedulers shall stop the sweep's running trials; so too where it has been deleted."""
        query = select(tables.sweep.c.stop_asked_at).where(tables.sweep.c.id == sweep_id)
        found = self._read(lambda connection: connection.execute(query).one_or_none())
        return found is None or found.stop_asked_at is not None

    def forget_stop(self, sweep_id: str) -> None:
        """Let a sweep that was stopped go on with what is added to it, or tried again."""
        goes_on = update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(stop_asked_at=None)
        self._write(lambda connection: connection.execute(goes_on))

    def try_failed_again(self, sweep_id: str) -> int:
        """Put failed trials back to pending, for another attempt each; how many."""
        return self._write(lambda connection: _move(connection, sweep_id, TrialState.FAILED, TrialState.PENDING))

    def repeat(self, sweep_id: str, trials: Sequence[str]) -> list[str]:
        """Put those of these trials that are derived or oversubscribed, and have a result, back to pending; their ids.

        Each keeps its result until the end of another attempt `replaces` it (`sweeper.plan.trial`).
        """
        trial = tables.trial.c

        def repeat(connection: Connection) -> list[str]:
            found: list[str] = []
            again = {"state": TrialState.PENDING.value, "reason": TO_BE_REPEATED, "scheduler_id": None}
            has_result = and_(
                trial.sweep_id == sweep_id,
                trial.state.in_([state.value for state in KEPT]),
                or_(trial.oversubscribed, trial.derived_from.is_not(None)),
                statements.kept_attempt() == trial.attempt,  # the attempt that the row's result is of
            )
            for begin in range(0, len(trials), _AT_ONCE):
                some = trial.id.in_(trials[begin : begin + _AT_ONCE])
                put_back = update(tables.trial).where(has_result, some).values(**again).returning(trial.id)
                found += connection.execute(put_back).scalars()
            return found

        def is_recorded(connection: Connection, found: list[str]) -> bool:
            waits = (trial.id.in_(found[:1]), trial.state.in_([state.value for state in KEEPING]))
            return bool(connection.execute(select(exists().where(*waits))).scalar())

        return self._write(repeat, is_recorded)

    def keep_results(self, sweep_id: str, trials: Sequence[str]) -> int:
        """Return those of these trials that wait to be repeated to the results that they keep; how many."""

        def keep(connection: Connection) -> int:
            portions = (trials[begin : begin + _AT_ONCE] for begin in range(0, len(trials), _AT_ONCE))
            return sum(_restore_waiting(connection, sweep_id, tables.trial.c.id.in_(some)) for some in portions)

        return self._write(keep)

    def delete(self, sweep_id: str) -> None:
        """Remove a sweep with all that was recorded of it."""
        self._write(lambda connection: connection.execute(delete(tables.sweep).where(tables.sweep.c.id == sweep_id)))


def _as_text(reference: str) -> str:
    """A reference whose bytes Python could not decode, as an argument in the C locale, decoded as UTF-8."""
    try:
        return reference.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return reference  # not such bytes; the database says so


def add_sweep(connection: Connection, sweep_id: str, spec: SweepSpec, trials: Sequence[TrialSpec]) -> None:
    """Record a sweep under an id, with its trials, all pending."""
    objective = spec.objective
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
    insert_trials(connection, sweep_id, written_trials(trials))


def _add_import(
    connection: Connection,
    sweep_id: str,
    name: str,
    curves: Sequence[ImportedCurve],
    told: Sequence[Mapping[str, Any]],
    over: str,
) -> None:
    """Record a sweep of finished curves under an id; one with a loss that is not finite is a diverged trial."""
    now = datetime.now(UTC)
    connection.execute(
        insert(tables.sweep).values(
            id=sweep_id,
            name=name,
            origin="import",
            spec=None,
            threshold=None,
            over=over,
            group_by=["workers"],
            created_at=now,
        )
    )
    for position, ((parameters, source, points, summary), own) in enumerate(zip(curves, told, strict=True)):
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
                trial_id=trial_id,
                number=1,
                state=state.value,
                log=source,
                effective=dict(own),
                started_at=now,
                ended_at=now,
            )
        )
        statements.insert_points(connection, trial_id, 1, points)


def is_there(connection: Connection, sweep_id: str) -> bool:
    """Whether there is a sweep of this id."""
    return bool(connection.execute(select(exists().where(tables.sweep.c.id == sweep_id))).scalar())


def _all_sweeps(connection: Connection) -> list[SweepRecord]:
    """All sweeps, newest first."""
    order = (tables.sweep.c.created_at.desc(), tables.sweep.c.id)
    found = connection.execute(select(tables.sweep).order_by(*order)).mappings().all()
    counts = statements.state_counts(connection)
    return [rows.sweep_record(row, *counts.get(row["id"], _NONE)) for row in found]


def _of_id(connection: Connection, sweep_id: str) -> SweepRecord | None:
    """The sweep of this id, for which no other's trials are counted; None where there is none."""
    row = connection.execute(select(tables.sweep).where(tables.sweep.c.id == sweep_id)).mappings().one_or_none()
    if row is None:
        return None
    return rows.sweep_record(row, *statements.state_counts(connection, sweep_id).get(sweep_id, _NONE))


def _missing(connection: Connection, sweep_id: str, trials: Iterable[TrialSpec]) -> Iterator[WrittenTrial]:
    """Those trials that the sweep does not have."""
    trial = tables.trial.c
    known = set(connection.execute(select(trial.id).where(trial.sweep_id == sweep_id)).scalars())
    return (one for one in written_trials(trials) if trial_id(sweep_id, one.key) not in known)


def _restore_waiting(connection: Connection, sweep_id: str, *conditions: ColumnElement[bool]) -> int:
    trial = tables.trial.c
    waits = (trial.sweep_id == sweep_id, trial.state == TrialState.PENDING.value)
    return statements.restore(connection, *waits, *conditions)


def _move(connection: Connection, sweep_id: str, before: TrialState, after: TrialState, reason: str = "") -> int:
    assert before in predecessors(after)
    trial = tables.trial
    moved = connection.execute(
        update(trial)
        .where(trial.c.sweep_id == sweep_id, trial.c.state == before.value)
        .values(state=after.value, reason=reason, scheduler_id=None)
    )
    return moved.rowcount
