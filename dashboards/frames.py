"""From the store to tidy tables: what the figures draw, free of queries and of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from sweeper.cost import candidates_over, dollars_per_second, rate_for
from sweeper.curve import LossPoint
from sweeper.errors import FigureError
from sweeper.ranking import Candidate, Key, best_per_group, group_key, qualifies
from sweeper.repeats import repeats_of
from sweeper.settings import competitors
from sweeper.spec import DOLLARS, OVER
from sweeper.store import EvaluationRecord, Store, SweepRecord
from sweeper.trial import TrialState

WORKERS = "workers"
BATCH_SIZE = "batch_size"
GLOBAL_BATCH_SIZE = "global_batch_size"
LEARNING_RATE = "learning_rate"


class Outcome(StrEnum):
    """What came of a trial at a threshold; the better first, NO_RESULT covering all that has no area to show."""

    QUALIFIED = "qualified"
    ABOVE_THRESHOLD = "above the threshold"
    DIVERGED = "diverged"
    OVERSUBSCRIBED = "oversubscribed"
    NO_RESULT = "no result"


class TrialRow(NamedTuple):
    """One trial; `area` in loss times the table's axis, `seconds` of training, None where there is none.

    With repeats it is a setting (`sweeper.settings`): area and seconds are means over its `repeats` seeds, `trial` is
    the first of them. `batch_size` is what the table's `batch_name` says; it and the rate are None where an imported
    trial has none. `others` are further parameters that vary within a group, by name.
    """

    trial: str
    position: int
    workers: int
    batch_size: Any
    learning_rate: Any
    others: Mapping[str, Any]
    state: TrialState
    outcome: Outcome
    area: float | None
    minimum_loss: float | None
    seconds: float | None
    winner: bool
    repeats: int = 1
    derived: bool = False  # its losses are another trial's

    @property
    def qualified(self) -> bool:
        """Whether the trial competes."""
        return self.outcome is Outcome.QUALIFIED


@dataclass(frozen=True)
class TrialGroup:
    """The trials that compete with each other, in the order of the plan; `key` has the group's values by name."""

    key: Mapping[str, Any]
    rows: tuple[TrialRow, ...]
    best_minimum_loss: float | None

    @property
    def winner(self) -> TrialRow | None:
        """The qualified trial with the smallest area."""
        return next((row for row in self.rows if row.winner), None)

    @property
    def qualified(self) -> tuple[TrialRow, ...]:
        """The trials that compete, in the order of the plan."""
        return tuple(row for row in self.rows if row.qualified)

    @property
    def nearest(self) -> TrialRow | None:
        """The trial with the lowest finite minimum loss, of any outcome."""
        seen = [row for row in self.rows if row.minimum_loss is not None and math.isfinite(row.minimum_loss)]
        return min(seen, key=lambda row: (row.minimum_loss, row.position), default=None)

    @property
    def best(self) -> TrialRow | None:
        """The trial that stands for the group: its winner, else the nearest."""
        return self.winner or self.nearest


@dataclass(frozen=True)
class TrialTable:
    """The trials of a sweep by group, in numeric order; `over` is the axis of all areas.

    `batch_name` is batch_size (images per worker and step) or global_batch_size (of all workers together), `rate` what
    a worker costs by the hour, in dollars, None where nobody says.
    """

    sweep: str
    name: str
    over: str
    threshold: float | None
    batch_name: str
    groups: tuple[TrialGroup, ...]
    rate: float | None = None

    @property
    def repeats(self) -> int:
        """The most seeds that a setting has."""
        return max((row.repeats for row in self.rows), default=1)

    @cached_property
    def rows(self) -> tuple[TrialRow, ...]:
        """All trials, group after group."""
        return tuple(row for group in self.groups for row in group.rows)


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


@dataclass(frozen=True)
class AccuracyRow:
    """The evaluations of the trial that stands for a group as in `CurveRow`; none where it was not evaluated.

    `positions` are seconds of training, images, steps or dollars, `accuracies` shares of the test set in [0, 1].
    """

    group: TrialGroup
    trial: TrialRow | None
    positions: tuple[float, ...]
    accuracies: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyTable:
    """One trial's accuracies per group of `trials`, in the order of its groups."""

    trials: TrialTable
    rows: tuple[AccuracyRow, ...]


def trial_table(
    store: Store,
    sweep: SweepRecord,
    over: str | None = None,
    threshold: float | None = None,
    *,
    oversubscribed: bool = False,
    rate: float | None = None,
) -> TrialTable:
    """The trials of a sweep, with areas over an axis; axis, threshold and `rate` are the sweep's own unless given.

    With repeats its settings. Areas over seconds of `oversubscribed` trials only where asked for. Reads no loss points.

    Raises:
        FigureError: the sweep has no trials, or curves but no area over this axis.
        SpecError: areas over dollars without a rate.
        StoreError: the store cannot be read.
    """
    axis = over or sweep.over
    limit = sweep.threshold if threshold is None else threshold
    rate = rate_for(sweep, axis, rate)
    found = candidates_over(store, sweep, axis, rate, oversubscribed=oversubscribed)
    trials = competitors(found, repeats_of(sweep.spec))
    if not trials:
        raise FigureError(f"sweep {sweep.name!r} has no trials", "`sweeper list` shows the sweeps that have some")
    _check_axis(store, sweep, found, axis, rate)
    batch_name = _batch_name(trials)
    others = _varied(trials, sweep.group_by)
    members: dict[Key, list[Candidate]] = {}
    for trial in trials:
        members.setdefault(group_key(trial.parameters, sweep.group_by), []).append(trial)
    groups = []
    for group in best_per_group(trials, limit, sweep.group_by):
        rows = tuple(
            [
                _row(trial, limit, batch_name, others, trial is group.winner)
                for trial in members[tuple(group.key.values())]
            ]
        )
        groups.append(TrialGroup(key=group.key, rows=rows, best_minimum_loss=group.best_minimum_loss))
    return TrialTable(sweep.id, sweep.name, axis, limit, batch_name, tuple(groups), rate)


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


def accuracy_table(store: Store, trials: TrialTable) -> AccuracyTable:
    """The evaluations of the best trial of each group; one query.

    Raises:
        FigureError: none of these trials was evaluated.
        StoreError: the store cannot be read.
    """
    evaluations = store.evaluations_by_trial(trials.sweep)
    rows = tuple(_accuracy_row(evaluations, group, trials) for group in trials.groups)
    if not evaluations:
        raise FigureError(
            f"sweep {trials.name!r}: none of its trials was evaluated on the test set",
            "set trial.evaluate_every in its spec, and run it again",
        )
    if not any(row.accuracies for row in rows):
        raise FigureError(
            f"sweep {trials.name!r}: none of its evaluated trials is the best of a group",
            "wait until a trial has ended, then draw again",
        )
    return AccuracyTable(trials, rows)


def outcome(trial: Candidate, threshold: float | None) -> Outcome:
    """What came of a trial; a complete curve without an area over the candidate's axis counts as no result."""
    if qualifies(trial, threshold):
        return Outcome.QUALIFIED
    if trial.state is TrialState.DIVERGED or (trial.complete and not trial.finite):
        return Outcome.DIVERGED
    if trial.complete and trial.oversubscribed and trial.area is None:
        return Outcome.OVERSUBSCRIBED
    return Outcome.ABOVE_THRESHOLD if trial.complete and trial.area is not None else Outcome.NO_RESULT


def _row(trial: Candidate, threshold: float | None, batch_name: str, others: Sequence[str], winner: bool) -> TrialRow:
    parameters = trial.parameters
    return TrialRow(
        trial=trial.trial,
        position=trial.position,
        workers=parameters[WORKERS],
        batch_size=_batch(trial, batch_name),
        learning_rate=parameters.get(LEARNING_RATE),
        others={name: parameters[name] for name in others if name in parameters},
        state=trial.state,
        outcome=outcome(trial, threshold),
        area=trial.area,
        minimum_loss=trial.minimum_loss,
        seconds=trial.seconds,
        winner=winner,
        repeats=len(trial.trials),
        derived=trial.derived_from is not None,
    )


def _batch_name(trials: Iterable[Candidate]) -> str:
    """The global size as soon as one trial is given so: that one follows from the other, always in whole images."""
    return GLOBAL_BATCH_SIZE if any(GLOBAL_BATCH_SIZE in trial.parameters for trial in trials) else BATCH_SIZE


def _batch(trial: Candidate, batch_name: str) -> Any:
    value = trial.parameters.get(batch_name)
    if value is None and batch_name == GLOBAL_BATCH_SIZE and BATCH_SIZE in trial.parameters:
        return trial.parameters[WORKERS] * trial.parameters[BATCH_SIZE]
    return value


def _varied(trials: Sequence[Candidate], group_by: Sequence[str]) -> list[str]:
    """Names of further parameters that have several values in the sweep, in the order of the plan."""
    known = {BATCH_SIZE, GLOBAL_BATCH_SIZE, LEARNING_RATE, *group_by}
    names = dict.fromkeys(name for trial in trials for name in trial.parameters if name not in known)
    return [name for name in names if len({repr(trial.parameters.get(name)) for trial in trials}) > 1]


def _check_axis(store: Store, sweep: SweepRecord, trials: Sequence[Candidate], over: str, rate: float | None) -> None:
    if _has_areas(trials) or not any(trial.complete and trial.finite for trial in trials):
        return
    axes = [axis for axis in OVER if axis != DOLLARS or rate is not None]
    ways = [f"--over {axis}" for axis in axes if _has_areas(candidates_over(store, sweep, axis, rate))]
    ways += ["--oversubscribed"] if any(trial.oversubscribed for trial in trials) else []
    remedy = f"use {' or '.join(ways)}" if ways else "a curve needs at least two loss points"
    raise FigureError(f"sweep {sweep.name!r}: none of its curves has an area over {over}", remedy)


def _has_areas(trials: Iterable[Candidate]) -> bool:
    return any(trial.complete and trial.finite and trial.area is not None for trial in trials)


def _curve_row(store: Store, group: TrialGroup, table: TrialTable) -> CurveRow:
    trial = group.best
    if trial is None:
        return CurveRow(group, None, (), ())
    points = store.points(trial.trial)
    positions = [_position(point, trial, table) for point in points]
    known = tuple(float(position) for position in positions if position is not None)
    if len(known) < len(points):
        problem = f"the curve of trial {trial.trial} does not say its {table.over}"
        raise FigureError(problem, "use --over seconds or steps")
    return CurveRow(group, trial, known, tuple(point.loss for point in points))


def _accuracy_row(
    evaluations: Mapping[str, Sequence[EvaluationRecord]], group: TrialGroup, table: TrialTable
) -> AccuracyRow:
    trial = group.best
    found = evaluations.get(trial.trial, ()) if trial else ()
    positions = [_position(evaluation, trial, table) for evaluation in found] if trial else []
    known = tuple(float(position) for position in positions if position is not None)
    return AccuracyRow(group, trial, known, tuple(evaluation.accuracy for evaluation in found))


def _position(at: LossPoint | EvaluationRecord, trial: TrialRow, table: TrialTable) -> float | None:
    if table.over == DOLLARS and table.rate is not None:
        return at.seconds * dollars_per_second({WORKERS: trial.workers}, table.rate)
    return {"seconds": at.seconds, "images": at.images, "steps": at.step}[table.over]
