"""The table of parallel coordinates: every parameter that varies, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import LEARNING_RATE, WORKERS, TrialRow, TrialTable
from dashboards.figures.tables.csv_text import csv_text, result_names, result_values
from dashboards.figures.words.numbers import measure, number, settings
from sweeper.ranking import sort_key

_MOST_TICKS = 9
Ticks = list[tuple[float, str]]  # height from 0 to 1, and what is written there


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


def coordinates_csv(table: CoordinateTable) -> str:
    """A line for each trial, with all that varies."""
    names = [dimension.name for dimension in table.dimensions]
    lines = ([row.trial.trial, *row.values, *result_values(row.trial)] for row in table.rows)
    return csv_text(["trial", *names, *result_names(table.trials.over)], lines)


def columns_of(table: CoordinateTable, rows: Sequence[CoordinateRow]) -> list[tuple[list[float], Ticks]]:
    """Heights of all rows on each axis, and what is written along it."""
    return [
        *(_settings_column(d.values, [row.values[i] for row in rows]) for i, d in enumerate(table.dimensions)),
        _measured_column([area_of(row) for row in rows]),
        _measured_column([row.trial.minimum_loss for row in rows]),
    ]


def _settings_column(values: Sequence[Any], of_rows: Sequence[Any]) -> tuple[list[float], Ticks]:
    """Heights from 0 to 1 of each row's value among those that occur, and what to write along the axis."""
    span = max(1, len(values) - 1)
    heights = {repr(value): i / span for i, value in enumerate(values)}
    every, texts = math.ceil(len(values) / _MOST_TICKS), settings(values)
    return [heights[repr(value)] for value in of_rows], [(i / span, texts[i]) for i in range(0, len(texts), every)]


def _measured_column(values: Sequence[float | None]) -> tuple[list[float], Ticks]:
    """The same of measured numbers, by ratios where they span more than tenfold; NaN where there is none."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return [math.nan] * len(values), []
    low, high = min(known), max(known)
    by_ratio = low > 0 and high > 10 * low
    warp = math.log if by_ratio else float
    bottom, span = warp(low), (warp(high) - warp(low)) or 1.0
    shares = (0.0, 0.25, 0.5, 0.75, 1.0) if high > low else (0.0,)
    texts = [(at, measure(math.exp(bottom + at * span)) if by_ratio else number(bottom + at * span)) for at in shares]
    heights = [
        (warp(value) - bottom) / span if value is not None and math.isfinite(value) else math.nan for value in values
    ]
    return heights, texts


def area_of(row: CoordinateRow) -> float | None:
    """The area of a whole curve."""
    return row.trial.area if row.trial.outcome.has_area else None
