"""The paper's figures 6.4 to 6.6, and the parameter server beside the other exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from experiments.doublings import along_counts, along_doublings, draw_line, spans_a_decade
from experiments.exchange_phases.operations import SERVER, Series

_MILLISECONDS = 1000.0
_WIDTH = 9.0  # inches
_NAME = "Exchange phases"
_LINEAR = ("average",)  # on linear axes, like the paper's figure: it says that the time grows linearly
Line: TypeAlias = Mapping[int, float]  # milliseconds by worker count
# The operations as the paper's figures have them.
_PANELS = {
    "gather": "gather (figure 6.5)",
    "average": "average (figure 6.4)",
    "update": "update",
    "broadcast": "broadcast (figure 6.6)",
}


@style.drawing()
def draw_operations(series: Sequence[Series]) -> Figure:
    """Milliseconds of each operation of the parameter server against workers: a panel each, a line for each series.

    The operations of the paper's figures have no value for one worker.
    """
    figure = style.new_figure(_WIDTH, 6.6)
    grid = figure.subplots(2, 2).ravel().tolist()
    for axes, (phase, words) in zip(grid, _PANELS.items(), strict=True):
        lines = {one.name: _operation(one, phase) for one in series}
        _draw(axes, lines, words, linear=phase in _LINEAR)
    title(figure, _NAME, "operations of the parameter server, mean time of a step on rank 0, median of runs", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


def _operation(series: Series, phase: str) -> Line:
    """Milliseconds of a phase by worker count, those that have it."""
    found = [row for count in series.counts if (row := series.find(SERVER, count)) and phase in row.seconds]
    return {row.workers: _MILLISECONDS * row.seconds[phase] for row in found}


@style.drawing()
def draw_methods(series: Sequence[Series]) -> Figure:
    """Milliseconds of a whole exchange against workers: a panel for each series, a line for each method.

    All panels are logarithmic, so that equal slopes are equal growth.
    """
    rows = -(-len(series) // 2)
    figure = style.new_figure(_WIDTH, 2.9 * rows + 1.6)
    grid = figure.subplots(rows, 2, squeeze=False).ravel().tolist()
    methods = list(dict.fromkeys(method for one in series for method in one.methods))
    for axes, one in zip(grid, series, strict=False):
        _draw(axes, {method: _exchange(one, method) for method in methods}, one.name, logarithmic=True)
    for unused in grid[len(series) :]:
        unused.remove()
    title(figure, _NAME, "a whole exchange with its update, mean time of a step on rank 0, median of runs", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure


def _exchange(series: Series, method: str) -> Line:
    """Milliseconds of a whole exchange by worker count, from two workers on."""
    found = [row for count in series.counts if count > 1 and (row := series.find(method, count))]
    return {row.workers: _MILLISECONDS * row.exchange for row in found}


def _draw(
    axes: Axes, lines: Mapping[str, Line], words: str, *, linear: bool = False, logarithmic: bool = False
) -> None:
    """Lines by their labels against the worker counts that any of them has.

    Milliseconds are logarithmic where this is asked for, or where they span a decade and no linear axes are asked for.
    """
    for place, (label, line) in enumerate(lines.items()):
        draw_line(axes, place, list(line), list(line.values()), label)
    counts = sorted({workers for line in lines.values() for workers in line})
    if linear:
        along_counts(axes, counts, "workers")
    else:
        values = [value for line in lines.values() for value in line.values()]
        along_doublings(axes, counts, "workers", logarithmic=logarithmic or spans_a_decade(values))
    axes.set(title=words, ylabel="ms")
