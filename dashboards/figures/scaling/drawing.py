"""Scaling: small panels by worker count, a line for each series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, PercentFormatter

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.drawing.panels import title
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.scaling.panels import (
    Line,
    Panel,
    measured_line,
    panels_of,
    predicted_line,
    predicted_points,
    words_of,
)
from dashboards.figures.scaling.rows import ScalingSeries
from dashboards.figures.scaling.table import ScalingTable
from dashboards.figures.tables import MAXIMUM_GROUPS
from sweeper.errors import FigureError

_COLUMN, _ROW = 3.7, 3.0  # inches of a panel with its margins
_DOTS, _DASHES = (0, (2, 3)), (0, (5, 3))


@style.drawing()
def draw_scaling(table: ScalingTable) -> Figure:
    """Small panels, at most three side by side, all against the number of workers, by doublings; see `panels_of`.

    A line for each series, with dots where scaling were perfect; predicted counts are hollow, on a dashed line.

    Raises:
        FigureError: more series than a picture can hold.
    """
    if len(table.series) > MAXIMUM_GROUPS:
        raise FigureError(
            f"sweep {table.trials.name!r} has {len(table.series)} series, a figure shows at most {MAXIMUM_GROUPS}",
            "group by a field with fewer values",
        )
    panels = panels_of(table)
    columns = 2 if len(panels) == 4 else min(3, len(panels))
    rows = -(-len(panels) // columns)
    width = columns * _COLUMN
    words = wrap(words_of(table), width - 0.4, style.NAME_PT)
    handles = _legend(table)
    height = rows * _ROW + 0.8 + 0.25 * words.count("\n") + 0.2 * (len(handles) // columns + 1)
    figure = style.new_figure(width, height)
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel, axes in zip(panels, grid, strict=False):
        _draw_panel(axes, panel, table)
    for unused in grid[len(panels) :]:
        unused.remove()
    title(figure, table.trials.name, words, width)
    figure.legend(handles=handles, loc="outside lower left", handlelength=3, ncols=columns)
    return figure


def _draw_panel(axes: Axes, panel: Panel, table: ScalingTable) -> None:
    if panel.share:
        axes.axhline(1.0, color=style.MUTED, linestyle=_DOTS, linewidth=1.2)
    for place, series in enumerate(table.series):
        _plot(axes, measured_line(series, panel.value), **_look(place))
        _plot(axes, predicted_line(series, panel.value), **(_look(place) | {"marker": "", "linestyle": _DASHES}))
        _plot(axes, predicted_points(series, panel.value), **_look(place), linestyle="none", markerfacecolor="white")
        if panel.perfect:
            colour = group_colour(place) if len(table.series) > 1 else style.MUTED
            _plot(axes, panel.perfect(series), color=colour, linestyle=_DOTS, linewidth=1.2)
    _scale(axes, panel, table.counts)
    axes.set(ylabel=panel.axis, xlabel="workers")
    axes.grid()


def _look(place: int) -> dict[str, Any]:
    marker = style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)]
    return {"color": group_colour(place), "marker": marker, "markersize": 6, "linewidth": 1.9, "zorder": 2.5}


def _plot(axes: Axes, line: Line, **look: Any) -> None:
    counts, values = line
    axes.plot(counts, np.array(values, dtype=float), **look)


def _scale(axes: Axes, panel: Panel, counts: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    margin = (counts[-1] / counts[0]) ** 0.08 if len(counts) > 1 else 1.5
    axes.set_xlim(counts[0] / margin, counts[-1] * margin)
    highest = axes.dataLim.ymax
    axes.set_ylim(0.0, 1.06 * highest if 0.0 < highest < math.inf else 1.0)
    axes.yaxis.set_major_formatter(AxisNumbers())
    if panel.share:
        axes.set_ylim(0.0, max(1.1, axes.get_ylim()[1]))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if not any(len(line.get_xydata()) for line in axes.get_lines()):  # type: ignore[arg-type]
        axes.set_yticks([])
        at: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, panel.nothing, color=style.MUTED, **at)


def _legend(table: ScalingTable) -> list[Line2D]:
    """An entry for each series, and what dots and hollow markers stand for."""
    handles = [_entry(series, place) for place, series in enumerate(table.series)]
    handles.append(Line2D([], [], color=style.MUTED, linestyle=_DOTS, linewidth=1.2, label="perfect"))
    if any(series.predicted for series in table.series):
        look: dict[str, Any] = {"color": style.MUTED, "linestyle": _DASHES, "linewidth": 1.9, "marker": "o"}
        handles.append(Line2D([], [], markersize=6, markerfacecolor="white", label="predicted", **look))
    return handles


def _entry(series: ScalingSeries, place: int) -> Line2D:
    look = _look(place)
    return Line2D([], [], label=wrap(series.name, _COLUMN - 0.8, style.TEXT_PT), **look)
