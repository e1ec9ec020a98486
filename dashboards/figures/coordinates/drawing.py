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

from dashboards.figures.coordinates.table import CoordinateRow, CoordinateTable, columns_of
from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from dashboards.figures.words.labels import area_unit, seeds_name, threshold_name

_DIMENSION_INCHES = 1.7


@style.drawing()
def draw_coordinates(table: CoordinateTable) -> Figure:
    """A line a trial: dark where its area is small, thick and in colour where it won, pale where it did not qualify."""
    names = [dimension.name.rpartition(".")[2].replace("_", " ") for dimension in table.dimensions]
    names += ["area", "minimum loss"]
    width = max(6.5, _DIMENSION_INCHES * len(names))
    figure = style.new_figure(width, 5.0)
    axes = figure.add_subplot()
    columns = columns_of(table, table.rows)
    _draw_lines(axes, np.array([heights for heights, _ in columns], dtype=float).T, table.rows)
    for x, (_, ticks) in enumerate(columns):
        axes.axvline(x, color=style.MUTED, linewidth=0.8, zorder=1)
        for y, text in ticks:
            look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": style.SMALL_PT, "zorder": 5}
            axes.annotate(text, (x, y), (-4, 0), textcoords="offset points", **look)
    axes.set(xlim=(-0.55, len(names) - 0.8), ylim=(-0.04, 1.04), yticks=[])
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    words = f"all that varies; area over {table.trials.over}, {area_unit(table.trials.over)}"
    title(figure, table.trials.name, f"{words}; {threshold_name(table.trials)}{seeds_name(table.trials)}", width)
    handles = [
        Line2D([], [], color=style.WINNER, linewidth=2.4, label="smallest area of a group"),
        Line2D([], [], color=matplotlib.colormaps[style.SEQUENTIAL](0.15), label="qualified, the darker the smaller"),
        Line2D([], [], color="#c4c8cd", label="not qualified"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3)
    return figure


def _draw_lines(axes: Axes, heights: Any, rows: Sequence[CoordinateRow]) -> None:
    """`heights`: [row, column]."""
    areas = heights[:, -2]
    xs = np.arange(heights.shape[1])
    alpha = max(0.05, min(0.8, 30 / math.sqrt(len(rows)) / 5))
    for chosen, look in (
        ([not row.trial.qualified for row in rows], {"colors": "#c4c8cd", "linewidths": 0.8, "zorder": 2}),
        ([row.trial.qualified and not row.trial.winner for row in rows], {"linewidths": 1.0, "zorder": 3}),
        ([row.trial.winner for row in rows], {"colors": style.WINNER, "linewidths": 2.4, "zorder": 4}),
    ):
        lines = [np.column_stack([xs, heights[i]]) for i in np.flatnonzero(chosen)]
        if not lines:
            continue
        if "colors" not in look:
            look["colors"] = matplotlib.colormaps[style.SEQUENTIAL](0.9 * np.nan_to_num(areas[np.array(chosen)]))
        axes.add_collection(LineCollection(lines, alpha=1.0 if look["zorder"] == 4 else alpha, **look))
