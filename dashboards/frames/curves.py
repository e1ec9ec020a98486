"""The table of curves: one that stands for each group."""

from __future__ import annotations

from dataclasses import dataclass

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
    """One curve per group of `trials`, in the order of its groups."""

    trials: TrialTable
    rows: tuple[CurveRow, ...]


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


def _curve_row(store: Store, group: TrialGroup, table: TrialTable) -> CurveRow:
    trial = group.best
    if trial is None:
        return CurveRow(group, None, (), ())
    points = store.points(trial.trial)
    positions = [position(point, trial, table) for point in points]
    known = tuple(float(position) for position in positions if position is not None)
    if len(known) < len(points):
        problem = f"the curve of trial {trial.trial} does not say its {table.over}"
        raise FigureError(problem, "use --over seconds or steps")
    return CurveRow(group, trial, known, tuple(point.loss for point in points))
