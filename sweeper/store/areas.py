"""Areas computed anew from stored points, for sweeps recorded when an area still began at the first point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, area
from sweeper.ranking.time_origin import CLOCK_SECONDS, why_not_from_zero

_ROWS_AT_ONCE = 5000
# No columns but those that every version of the schema has.
_SWEEP = sa.table("sweep", sa.column("id"), sa.column("origin"))
_AREAS = ("area_seconds", "area_images", "area_steps")
_TRIAL = sa.table("trial", *map(sa.column, ("id", "sweep_id", "attempt", "state", *_AREAS)))
_POINT = sa.table("loss_point", *map(sa.column, ("trial_id", "attempt", "step", "images", "seconds", "loss")))
_ENDED = [state.value for state in TrialState if state.ended]


def compute_areas(connection: Connection, sweep_id: str | None = None) -> None:
    """Compute the areas of the ended trials of a sweep, or of all sweeps, from zero (`sweeper.ranking.curve`).

    Areas over seconds stay as they are, from the first points on, for an import of logs where the times of one of them
    do not look like durations from zero, and for a sweep whose commands have reported the time of a clock.
    """
    sweeps = sa.select(_SWEEP.c.id, _SWEEP.c.origin)
    for sweep, origin in connection.execute(
        sweeps if sweep_id is None else sweeps.where(_SWEEP.c.id == sweep_id)
    ).all():
        judge: Callable[[Sequence[float]], object] = why_not_from_zero if origin == "import" else _is_clock
        timed, areas = True, {}
        for trial, points in _curves(connection, sweep):
            timed = timed and not judge([point.seconds for point in points])
            areas[trial] = {f"area_{over}": area(points, over) for over in ("seconds", "images", "steps")}
        for trial, found in areas.items():
            values = {name: value for name, value in found.items() if timed or name != "area_seconds"}
            connection.execute(sa.update(_TRIAL).where(_TRIAL.c.id == trial).values(values))


def _is_clock(seconds: Sequence[float]) -> bool:
    return seconds[0] >= CLOCK_SECONDS


def _curves(connection: Connection, sweep_id: str) -> Iterator[tuple[str, list[LossPoint]]]:
    """The points of the attempt that each ended trial of a sweep has its result from."""
    latest = sa.and_(_POINT.c.trial_id == _TRIAL.c.id, _POINT.c.attempt == _TRIAL.c.attempt)
    query = (
        sa.select(_POINT.c.trial_id, _POINT.c.step, _POINT.c.images, _POINT.c.seconds, _POINT.c.loss)
        .select_from(_POINT.join(_TRIAL, latest))
        .where(_TRIAL.c.sweep_id == sweep_id, _TRIAL.c.state.in_(_ENDED))
        .order_by(_POINT.c.trial_id, _POINT.c.step)
    )
    rows = (row for some in connection.execute(query).partitions(_ROWS_AT_ONCE) for row in some)
    for trial, found in groupby(rows, key=lambda row: row.trial_id):
        yield str(trial), [LossPoint(row.step, row.images, _number(row.seconds), _number(row.loss)) for row in found]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)  # SQLite has no NaN and keeps it as NULL
