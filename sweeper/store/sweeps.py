"""Sweeps as they are submitted, imported, listed and found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select

from sweeper.errors import NotFoundError
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.spec import SweepSpec
from sweeper.spec.sweep_name import LATEST
from sweeper.store import rows, statements, tables
from sweeper.store.records import SweepRecord

Curve = tuple[dict[str, Any], str, Sequence[LossPoint], CurveSummary]


def add(connection: Connection, sweep_id: str, spec: SweepSpec, trials: Sequence[TrialSpec]) -> None:
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
    connection.execute(
        insert(tables.trial),
        [statements.new_trial(sweep_id, position, trial) for position, trial in enumerate(trials)],
    )


def add_import(connection: Connection, sweep_id: str, name: str, curves: Sequence[Curve]) -> None:
    """Record a sweep of finished curves under an id; one with a loss that is not finite is a diverged trial."""
    now = datetime.now(UTC)
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


def is_there(connection: Connection, sweep_id: str) -> bool:
    """Whether there is a sweep of this id."""
    return bool(connection.execute(select(exists().where(tables.sweep.c.id == sweep_id))).scalar())


def all_of_them(connection: Connection) -> list[SweepRecord]:
    """All sweeps, newest first."""
    order = (tables.sweep.c.created_at.desc(), tables.sweep.c.id)
    found = connection.execute(select(tables.sweep).order_by(*order)).mappings().all()
    counts = statements.state_counts(connection)
    return [rows.sweep_record(row, *counts.get(row["id"], ({}, 0))) for row in found]


def one(connection: Connection, sweep_id: str) -> SweepRecord | None:
    """The sweep of this id, for which no other's trials are counted; None where there is none."""
    row = connection.execute(select(tables.sweep).where(tables.sweep.c.id == sweep_id)).mappings().one_or_none()
    if row is None:
        return None
    return rows.sweep_record(row, *statements.state_counts(connection, sweep_id).get(sweep_id, ({}, 0)))


def find(sweeps: Sequence[SweepRecord], reference: str, store: str) -> SweepRecord:
    """Of sweeps, newest first, the one that `Store.find_sweep` speaks of; `store` is named where there is none."""
    if reference == LATEST and sweeps:
        return sweeps[0]
    found = [s for s in sweeps if s.id == reference] or [s for s in sweeps if s.name == reference][:1]
    if not found and reference:
        found = [s for s in sweeps if s.id.startswith(reference)]
    if len(found) == 1:
        return found[0]
    problem = "fits several sweeps" if found else "no such sweep"
    raise NotFoundError(f"sweep {reference!r}: {problem} in {store}", "`sweeper list` shows their ids and names")
