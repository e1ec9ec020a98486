"""The paper's figures 6.4 to 6.6, and the parameter server beside the other exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import title
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
            _line(axes, place, [row.workers for row in found], [row.seconds[phase] for row in found], one.name)
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
            _line(axes, place, [row.workers for row in found], [row.exchange for row in found], method)
        _finish(axes, [count for count in one.counts if count > 1], one.name)
    for unused in grid[len(series) :]:
        unused.remove()
    title(figure, _NAME, "a whole exchange with its update, mean time of a step on rank 0, median of runs", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure


def _line(axes: Axes, place: int, counts: Sequence[int], seconds: Sequence[float], label: str) -> None:
    axes.plot(
        counts,
        [_MILLISECONDS * value for value in seconds],
        color=style.GROUP_COLOURS[place % len(style.GROUP_COLOURS)],
        marker=style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)],
        markersize=5.5,
        linewidth=1.9,
        label=label,
    )


def _finish(axes: Axes, counts: Sequence[int], words: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(title=words, xlabel="workers", ylabel="ms")
    axes.grid()
