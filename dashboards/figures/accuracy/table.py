"""The table of accuracies on the test set, or of errors: those of the trial that stands for each group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboards.figures.tables import TrialGroup, TrialRow, TrialTable
from dashboards.figures.tables.along_axis import along_csv, chosen_rows, position_of
from sweeper.errors import FigureError
from sweeper.store import EvaluationRecord, Store


@dataclass(frozen=True)
class AccuracyRow:
    """The evaluations of the trial that stands for a group as in `CurveRow`; none where it was not evaluated.

    `positions` are along the table's axis, `accuracies` shares of the test set in [0, 1].
    """

    group: TrialGroup
    trial: TrialRow | None
    positions: tuple[float, ...]
    accuracies: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyTable:
    """One trial's accuracies per group of `trials`, in the order of its groups; or those of `chosen` trials.

    With `error` the figure shows the share of the test set that is wrong, 1 - accuracy.
    """

    trials: TrialTable
    rows: tuple[AccuracyRow, ...]
    chosen: bool = False
    error: bool = False

    @property
    def what(self) -> str:
        """What the figure shows: "accuracy" or "error"."""
        return "error" if self.error else "accuracy"

    def values(self, row: AccuracyRow) -> tuple[float, ...]:
        """What the figure shows of a row, shares of the test set in [0, 1]."""
        return tuple(1.0 - accuracy for accuracy in row.accuracies) if self.error else row.accuracies


def accuracy_table(store: Store, trials: TrialTable, *, error: bool = False) -> AccuracyTable:
    """The evaluations of the best trial of each group; one query.

    Raises:
        FigureError: none of these trials was evaluated.
        StoreError: the store cannot be read.
    """
    evaluations = store.attempts.evaluations_by_trial(trials.sweep)
    rows = tuple(_accuracy_row(store, evaluations, group, trials) for group in trials.groups)
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
    return AccuracyTable(trials, rows, error=error)


def chosen_accuracies(store: Store, trials: TrialTable, chosen: Sequence[str], *, error: bool = False) -> AccuracyTable:
    """The evaluations of chosen trials of the sweep, in this order.

    Raises:
        FigureError: none of them was evaluated.
        NotFoundError: there is no such trial.
        StoreError: the store cannot be read.
    """
    rows = []
    for group, trial in chosen_rows(store, trials, chosen):
        found = store.attempts.evaluations(trial.trial)
        rows.append(AccuracyRow(group, trial, *_placed(store, found, trial, trials)))
    if not any(row.accuracies for row in rows):
        raise FigureError(f"sweep {trials.name!r}: the chosen trials were not evaluated", "choose others")
    return AccuracyTable(trials, tuple(rows), chosen=True, error=error)


def _accuracy_row(
    store: Store, evaluations: Mapping[str, Sequence[EvaluationRecord]], group: TrialGroup, table: TrialTable
) -> AccuracyRow:
    trial = group.best
    found = evaluations.get(trial.trial, ()) if trial else ()
    return AccuracyRow(group, trial, *(_placed(store, found, trial, table) if trial and found else ((), ())))


def _placed(
    store: Store, found: Sequence[EvaluationRecord], trial: TrialRow, table: TrialTable
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Positions and accuracies of the evaluations that have both: imported runs may lack one of them."""
    position = position_of(store, trial, table)
    placed = [(position(one), one.accuracy) for one in found]
    known = [(float(at), accuracy) for at, accuracy in placed if at is not None and not math.isnan(accuracy)]
    return tuple(at for at, _ in known), tuple(accuracy for _, accuracy in known)


def share_name(table: AccuracyTable) -> str:
    """What the axis of the figure's values shows, with its unit."""
    return "error, share of the test set wrong" if table.error else "accuracy, share of the test set"


def accuracies_csv(table: AccuracyTable) -> str:
    """A line for each evaluation of the table's trials."""
    return along_csv(table.trials, table.what, [(row, table.values(row)) for row in table.rows])
