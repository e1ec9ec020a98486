"""What curves and accuracies share: which trials they show, and where on the table's axis a value stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from dashboards.figures.tables.csv_text import csv_text, group_names
from dashboards.figures.tables.trials import (
    BATCH_SIZE,
    EPOCHS,
    LEARNING_RATE,
    WORKERS,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
)
from engine.config import SAMPLES, TrainingConfig
from sweeper.errors import FigureError
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.curve import LossPoint
from sweeper.spec import DOLLARS
from sweeper.store import EvaluationRecord, Store, TrialRecord

Position: TypeAlias = Callable[[LossPoint | EvaluationRecord], float | None]


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
        """Where the values stand: seconds, images, epochs, steps or dollars."""


def position_of(store: Store, trial: TrialRow | TrialRecord, table: TrialTable) -> Position:
    """Where a trial's points and evaluations stand along the table's axis; None for those that do not say.

    In seconds, images, epochs, steps or dollars.

    Raises:
        FigureError: along epochs, the size of the trial's data set is not known.
        StoreError: the store cannot be read.
    """
    if table.along == EPOCHS:
        epoch = _images_per_epoch(store, trial, table)
        return lambda at: None if at.images is None else at.images / epoch
    if table.along in ("seconds", DOLLARS):
        scale = 1.0
        if table.along == DOLLARS and table.rate is not None:
            scale = dollars_per_second({WORKERS: trial.workers}, table.rate)
        return lambda at: None if math.isnan(at.seconds) else at.seconds * scale  # an imported log without times
    return lambda at: {"images": at.images, "steps": at.step}[table.along]


def _images_per_epoch(store: Store, trial: TrialRow | TrialRecord, table: TrialTable) -> int:
    record = trial if isinstance(trial, TrialRecord) else store.trials.find(trial.trial)
    config = record.planned.config if record.config else None  # an import has none
    samples = SAMPLES.get(config.data) if isinstance(config, TrainingConfig) else None
    if not isinstance(config, TrainingConfig) or samples is None:
        of = f"data set {config.data}" if isinstance(config, TrainingConfig) else "data set"
        raise FigureError(
            f"sweep {table.name!r}: the size of its {of} is not known, so its epochs cannot be counted",
            "draw it over images",
            "--over images",
        )
    return config.images_per_epoch(samples)


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
    return csv_text([*names, "trial", table.along, name], lines)
