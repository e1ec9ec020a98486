"""The table of parallel coordinates: every parameter that varies, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.frames.trials import LEARNING_RATE, WORKERS, TrialRow, TrialTable
from sweeper.ranking import sort_key

AREA, MINIMUM_LOSS = "area", "minimum_loss"


@dataclass(frozen=True)
class Dimension:
    """An axis of settings: its name, and the values that occur, in numeric order."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class CoordinateRow:
    """A trial with its value on each dimension, None where it has none; losses and areas may be missing."""

    trial: TrialRow
    values: tuple[Any, ...]


@dataclass(frozen=True)
class CoordinateTable:
    """All trials of `trials` on the `dimensions` that vary; area and minimum loss are axes of every such figure."""

    trials: TrialTable
    dimensions: tuple[Dimension, ...]
    rows: tuple[CoordinateRow, ...]


def coordinate_table(trials: TrialTable) -> CoordinateTable:
    """Workers, batch size, rate and all others that have several values; those of groups and of settings alike."""
    names = dict.fromkeys(
        [
            WORKERS,
            trials.batch_name,
            LEARNING_RATE,
            *(name for group in trials.groups for name in group.key),
            *(name for row in trials.rows for name in row.others),
        ]
    )
    columns = {name: _column(name, trials) for name in names}
    varied = {name: values for name, values in columns.items() if len(set(map(repr, values))) > 1}
    dimensions = tuple(
        Dimension(name, tuple(sorted({repr(v): v for v in values}.values(), key=sort_key)))
        for name, values in varied.items()
    )
    values = zip(*varied.values(), strict=True) if varied else ((),) * len(trials.rows)
    rows = tuple(CoordinateRow(row, tuple(some)) for row, some in zip(trials.rows, values, strict=True))
    return CoordinateTable(trials, dimensions, rows)


def _column(name: str, trials: TrialTable) -> Sequence[Any]:
    """A parameter's value of each row, in the order of the table's rows."""
    if name == WORKERS:
        return [row.workers for row in trials.rows]
    if name == trials.batch_name:
        return [row.batch_size for row in trials.rows]
    if name == LEARNING_RATE:
        return [row.learning_rate for row in trials.rows]
    return [
        group.key[name] if name in group.key else row.others.get(name) for group in trials.groups for row in group.rows
    ]
