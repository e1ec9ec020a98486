"""The paper's figures 6.4 to 6.6, and the parameter server beside the other exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from experiments.doublings import along_doublings, draw_line
from experiments.exchange_phases.operations import SERVER, Series, worker_counts

_MILLISECONDS = 1000.0
_WIDTH = 9.0  # inches
_NAME = "Exchange phases"
# The operations as the paper's figures have them.
_PANELS = {
    "gather": "gather (figure 6.5)",
    "average": "average (figure 6.4)",
    "update": "update",
    "broadcast": "broadcast (figure 6.6)",
}


@style.drawing()
def draw_operations(series: Sequence[Series]) -> Figure:
    """Milliseconds of each operation of the parameter server against workers: a panel each, a line for each series."""
    figure = style.new_figure(_WIDTH, 6.6)
    grid = figure.subplots(2, 2).ravel().tolist()
    for axes, (phase, words) in zip(grid, _PANELS.items(), strict=True):
        for place, one in enumerate(series):
            found = [row for count in one.counts if (row := one.find(SERVER, count)) and phase in row.seconds]
            values = [_MILLISECONDS * row.seconds[phase] for row in found]
            draw_line(axes, place, [row.workers for row in found], values, one.name)
        _finish(axes, worker_counts(series), words)
    title(figure, _NAME, "operations of the parameter server, mean time of a step on rank 0, median of runs", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


@style.drawing()
def draw_methods(series: Sequence[Series]) -> Figure:
    """Milliseconds of a whole exchange against workers: a panel for each series, a line for each method."""
    rows = -(-len(series) // 2)
    figure = style.new_figure(_WIDTH, 2.9 * rows + 1.6)
    grid = figure.subplots(rows, 2, squeeze=False).ravel().tolist()
    methods = list(dict.fromkeys(method for one in series for method in one.methods))
    for axes, one in zip(grid, series, strict=False):
        for place, method in enumerate(methods):
            found = [row for count in one.counts if count > 1 and (row := one.find(method, count))]
            values = [_MILLISECONDS * row.exchange for row in found]
            draw_line(axes, place, [row.workers for row in found], values, method)
        _finish(axes, [count for count in one.counts if count > 1], one.name)
    for unused in grid[len(series) :]:
        unused.remove()
    title(figure, _NAME, "a whole exchange with its update, mean time of a step on rank 0, median of runs", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure


def _finish(axes: Axes, counts: Sequence[int], words: str) -> None:
    along_doublings(axes, counts, "workers")
    axes.set(title=words, ylabel="ms")
