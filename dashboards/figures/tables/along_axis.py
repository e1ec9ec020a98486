"""What curves and accuracies share: which trials they show, and where on the table's axis a value stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from dashboards.figures.tables.csv_text import csv_text, group_names
from dashboards.figures.tables.trials import (
    BATCH_SIZE,
    LEARNING_RATE,
    WORKERS,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
)
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.curve import LossPoint
from sweeper.spec import DOLLARS
from sweeper.store import EvaluationRecord, Store, TrialRecord


class AlongAxis(Protocol):
    """A trial's values along the axis of its table."""

    @property
    def group(self) -> TrialGroup:
        """The trial's group."""

    @property
    def trial(self) -> TrialRow | None:
        """The trial; None where its group has none to show."""

    @property
    def positions(self) -> Sequence[float]:
        """Where the values stand: seconds, images, steps or dollars."""


def position(at: LossPoint | EvaluationRecord, trial: TrialRow | TrialRecord, table: TrialTable) -> float | None:
    """Seconds, images, steps or dollars, as the table's axis asks for; None where the trial does not say."""
    if table.over in ("seconds", DOLLARS) and math.isnan(at.seconds):  # an imported log without times
        return None
    if table.over == DOLLARS and table.rate is not None:
        return at.seconds * dollars_per_second({WORKERS: trial.workers}, table.rate)
    return {"seconds": at.seconds, "images": at.images, "steps": at.step}[table.over]


def chosen_rows(store: Store, trials: TrialTable, chosen: Sequence[str]) -> list[tuple[TrialGroup, TrialRow]]:
    """Chosen trials of the table's sweep with their groups, in this order; those of others are left out.

    Raises:
        NotFoundError: there is no such trial.
        StoreError: the store cannot be read.
    """
    groups = {repr(group.key): group for group in trials.groups}
    names = tuple(trials.groups[0].key)
    found = [one for one in map(store.trials.find, chosen) if one.sweep_id == trials.sweep]
    return [
        (groups.get(repr({name: one.parameters.get(name) for name in names}), trials.groups[0]), _row_of(one, trials))
        for one in found
    ]


def _row_of(trial: TrialRecord, table: TrialTable) -> TrialRow:
    """A trial as the table has it; with repeats one of its seeds has no row of its own there."""
    others = dict.fromkeys(name for row in table.rows[:1] for name in row.others)
    if table.repeats > 1:
        others["seed"] = None
    batch = trial.parameters.get(table.batch_name)
    if batch is None and BATCH_SIZE in trial.parameters:
        batch = trial.parameters[BATCH_SIZE] * trial.workers
    return TrialRow(
        trial=trial.id,
        position=trial.position,
        workers=trial.workers,
        batch_size=batch,
        learning_rate=trial.parameters.get(LEARNING_RATE),
        others={name: trial.parameters.get(name) for name in others},
        state=trial.state,
        outcome=Outcome.NO_RESULT,
        area=None,
        minimum_loss=trial.minimum_loss,
        seconds=trial.seconds,
        winner=False,
    )


def along_csv(table: TrialTable, name: str, rows: Iterable[tuple[AlongAxis, Sequence[float]]]) -> str:
    """CSV with a line for each value; `rows` pairs each trial with its values, `name` is what they are."""
    names = group_names(table)
    lines = (
        [*map(row.group.key.get, names), row.trial.trial if row.trial else None, at, value]
        for row, values in rows
        for at, value in zip(row.positions, values, strict=True)
    )
    return csv_text([*names, "trial", table.over, name], lines)
