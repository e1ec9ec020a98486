"""The table of curves: one that stands for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboards.frames.chosen import chosen_rows
from dashboards.frames.positions import position
from dashboards.frames.trials import TrialGroup, TrialRow, TrialTable
from sweeper.errors import FigureError
from sweeper.store import Store


@dataclass(frozen=True)
class CurveRow:
    """The curve that stands for a group: its winner's, or its nearest trial's where none qualified.

    `positions` are seconds, images, steps or dollars; losses may be NaN or infinite. A group without a curve has no
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


def _curve_row(store: Store, group: TrialGroup, table: TrialTable) -> CurveRow:
    return CurveRow(group, None, (), ()) if group.best is None else _row(store, group, group.best, table)


def _row(store: Store, group: TrialGroup, trial: TrialRow, table: TrialTable) -> CurveRow:
    points = store.attempts.points(trial.trial)
    positions = [position(point, trial, table) for point in points]
    known = tuple(float(position) for position in positions if position is not None)
    if len(known) < len(points):
        problem = f"the curve of trial {trial.trial} does not say its {table.over}"
        raise FigureError(problem, "use --over seconds or steps")
    return CurveRow(group, trial, known, tuple(point.loss for point in points))
