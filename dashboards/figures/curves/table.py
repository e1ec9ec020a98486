"""The tables of curves: the one that stands for each group, and all that a page follows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.figures.tables import TrialGroup, TrialRow, TrialTable
from dashboards.figures.tables.along_axis import along_csv, chosen_rows, position_of
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.store import Store, TrialRecord

_LOGARITHMIC_FROM = 30.0  # times the median, the largest loss above which a linear axis shows nothing else
_MOST_GROUPS, _MOST_RUNNING = 8, 8  # curves on a page where nobody has chosen any


@dataclass(frozen=True)
class CurveRow:
    """The curve that stands for a group: its winner's, or its nearest trial's where none qualified.

    `positions` are along the table's axis; losses may be NaN or infinite. A group without a curve has no
    points, and no `trial` where none has ended yet.
    """

    group: TrialGroup
    trial: TrialRow | None
    positions: tuple[float, ...]
    losses: tuple[float, ...]


@dataclass(frozen=True)
class CurveTable:
    """One curve per group of `trials`, in the order of its groups; or those of trials that somebody has `chosen`."""

    trials: TrialTable
    rows: tuple[CurveRow, ...]
    chosen: bool = False


@dataclass(frozen=True)
class FollowedCurve:
    """A trial's curve so far: its points, and where each stands on the table's axis."""

    trial: TrialRecord
    points: tuple[LossPoint, ...]
    positions: tuple[float, ...]


@dataclass(frozen=True)
class FollowedTable:
    """The curves that a page follows, also those of trials that are running."""

    trials: TrialTable
    rows: tuple[FollowedCurve, ...]


def curve_table(store: Store, trials: TrialTable) -> CurveTable:
    """The points of the best trial of each group.

    Raises:
        FigureError: no group has a curve, or a curve does not say its images.
        StoreError: the store cannot be read.
    """
    rows = tuple(_curve_row(store, group, trials) for group in trials.groups)
    if not any(row.losses for row in rows):
        raise FigureError(
            f"sweep {trials.name!r} has no loss points to draw", "wait until a trial has ended, then draw again"
        )
    return CurveTable(trials, rows)


def chosen_curves(store: Store, trials: TrialTable, chosen: Sequence[str]) -> CurveTable:
    """The points of chosen trials of the sweep, in this order; others' are left out.

    Raises:
        FigureError: none of them has a curve, or a curve does not say its images.
        NotFoundError: there is no such trial.
        StoreError: the store cannot be read.
    """
    rows = [_row(store, group, row, trials) for group, row in chosen_rows(store, trials, chosen)]
    if not any(row.losses for row in rows):
        raise FigureError(f"sweep {trials.name!r}: the chosen trials have no loss points to draw", "choose others")
    return CurveTable(trials, tuple(rows), chosen=True)


def followed_curves(store: Store, trials: TrialTable, chosen: Sequence[str]) -> FollowedTable:
    """The curves of chosen trials, or else of the best of each group and of those that are running.

    Raises:
        FigureError: there is nothing to draw, or a curve does not say its images.
        NotFoundError: there is no such trial.
        StoreError: the store cannot be read.
    """
    rows = tuple(_followed(store, trial, trials) for trial in _to_follow(store, trials, chosen))
    if not any(row.points for row in rows) and not any(row.trial.state is TrialState.RUNNING for row in rows):
        raise FigureError(
            f"sweep {trials.name!r} has no loss points to draw", "wait until a trial runs or has ended, or choose some"
        )
    return FollowedTable(trials, rows)


def _to_follow(store: Store, trials: TrialTable, chosen: Sequence[str]) -> list[TrialRecord]:
    if chosen:
        found = [store.trials.find(trial_id) for trial_id in chosen]
        return [trial for trial in found if trial.sweep_id == trials.sweep]
    best = [group.best.trial for group in trials.groups if group.best][:_MOST_GROUPS]
    running = [row.trial for row in store.progress.running(trials.sweep)][:_MOST_RUNNING]
    return [store.trials.find(trial_id) for trial_id in dict.fromkeys([*best, *running])]


def _followed(store: Store, trial: TrialRecord, trials: TrialTable) -> FollowedCurve:
    # One that is repeated has a result of an earlier attempt; here it is the running one that is followed.
    points = tuple(store.attempts.points(trial.id, trial.attempt if trial.state is TrialState.RUNNING else None))
    position = position_of(store, trial, trials)
    positions = tuple(at for point in points if (at := position(point)) is not None)
    if len(positions) < len(points):
        raise FigureError(f"the curve of trial {trial.id} does not say its {trials.along}", _others(trials))
    return FollowedCurve(trial, points, positions)


def _curve_row(store: Store, group: TrialGroup, table: TrialTable) -> CurveRow:
    return CurveRow(group, None, (), ()) if group.best is None else _row(store, group, group.best, table)


def _row(store: Store, group: TrialGroup, trial: TrialRow, table: TrialTable) -> CurveRow:
    points = store.attempts.points(trial.trial)
    position = position_of(store, trial, table)
    positions = [position(point) for point in points]
    known = tuple(float(position) for position in positions if position is not None)
    if len(known) < len(points):
        problem = f"the curve of trial {trial.trial} does not say its {table.along}"
        raise FigureError(problem, _others(table))
    return CurveRow(group, trial, known, tuple(point.loss for point in points))


def _others(table: TrialTable) -> str:
    return "choose steps" if table.over == "seconds" else "choose seconds or steps"


def logarithmic(losses: Sequence[float]) -> bool:
    """Whether the losses span so much that a linear axis would flatten most of a curve."""
    return bool(losses) and min(losses) > 0 and max(losses) > _LOGARITHMIC_FROM * statistics.median(losses)


def curves_csv(table: CurveTable) -> str:
    """A line for each loss point of the table's curves."""
    return along_csv(table.trials, "loss", [(row, row.losses) for row in table.rows])
