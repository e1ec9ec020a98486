"""Parallel coordinates: every parameter that varies, with area and minimum loss, a line a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dashboards.figures import style
from dashboards.figures.labels import seeds_name, threshold_name
from dashboards.figures.number_format import measure, number, settings
from dashboards.figures.panels import title
from dashboards.frames import CoordinateRow, CoordinateTable, Outcome

_DIMENSION_INCHES = 1.7
_MOST_TICKS = 9
Ticks = list[tuple[float, str]]


@style.drawing()
def draw_coordinates(table: CoordinateTable) -> Figure:
    """A line a trial: dark where its area is small, thick and in colour where it won, pale where it did not qualify."""
    names = [dimension.name.rpartition(".")[2].replace("_", " ") for dimension in table.dimensions]
    names += ["area", "minimum loss"]
    width = max(6.5, _DIMENSION_INCHES * len(names))
    figure = style.new_figure(width, 5.0)
    axes = figure.add_subplot()
    columns = [settings_column(d.values, [row.values[i] for row in table.rows]) for i, d in enumerate(table.dimensions)]
    columns.append(measured_column([area_of(row) for row in table.rows]))
    columns.append(measured_column([row.trial.minimum_loss for row in table.rows]))
    _draw_lines(axes, np.array([places for places, _ in columns], dtype=float).T, table.rows)
    for x, (_, ticks) in enumerate(columns):
        axes.axvline(x, color=style.MUTED, linewidth=0.8, zorder=1)
        for y, text in ticks:
            look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": style.SMALL_PT, "zorder": 5}
            axes.annotate(text, (x, y), (-4, 0), textcoords="offset points", **look)
    axes.set(xlim=(-0.55, len(names) - 0.8), ylim=(-0.04, 1.04), yticks=[])
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    words = f"all that varies; area over {table.trials.over}, {style.area_unit(table.trials.over)}"
    title(figure, table.trials.name, f"{words}; {threshold_name(table.trials)}{seeds_name(table.trials)}", width)
    handles = [
        Line2D([], [], color=style.WINNER, linewidth=2.4, label="smallest area of a group"),
        Line2D([], [], color=matplotlib.colormaps[style.SEQUENTIAL](0.15), label="qualified, the darker the smaller"),
        Line2D([], [], color="#c4c8cd", label="not qualified"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3)
    return figure


def settings_column(values: Sequence[Any], of_rows: Sequence[Any]) -> tuple[list[float], Ticks]:
    """Heights from 0 to 1 of each row's value among those that occur, and what to write along the axis."""
    span = max(1, len(values) - 1)
    places = {repr(value): i / span for i, value in enumerate(values)}
    every, texts = math.ceil(len(values) / _MOST_TICKS), settings(values)
    return [places[repr(value)] for value in of_rows], [(i / span, texts[i]) for i in range(0, len(texts), every)]


def measured_column(values: Sequence[float | None]) -> tuple[list[float], Ticks]:
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
    return row.trial.area if row.trial.outcome in (Outcome.QUALIFIED, Outcome.ABOVE_THRESHOLD) else None


def _draw_lines(axes: Axes, places: Any, rows: Sequence[CoordinateRow]) -> None:
    """`places` are heights: [row, column]."""
    areas = places[:, -2]
    xs = np.arange(places.shape[1])
    alpha = max(0.05, min(0.8, 30 / math.sqrt(len(rows)) / 5))
    for chosen, look in (
        ([not row.trial.qualified for row in rows], {"colors": "#c4c8cd", "linewidths": 0.8, "zorder": 2}),
        ([row.trial.qualified and not row.trial.winner for row in rows], {"linewidths": 1.0, "zorder": 3}),
        ([row.trial.winner for row in rows], {"colors": style.WINNER, "linewidths": 2.4, "zorder": 4}),
    ):
        lines = [np.column_stack([xs, places[i]]) for i in np.flatnonzero(chosen)]
        if not lines:
            continue
        if "colors" not in look:
            look["colors"] = matplotlib.colormaps[style.SEQUENTIAL](0.9 * np.nan_to_num(areas[np.array(chosen)]))
        axes.add_collection(LineCollection(lines, alpha=1.0 if look["zorder"] == 4 else alpha, **look))
