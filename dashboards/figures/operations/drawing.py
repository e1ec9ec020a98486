"""Operations: a panel for each phase of a step, seconds against workers."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.drawing.panels import title
from dashboards.figures.operations.table import OperationTable
from dashboards.figures.words.labels import group_name

MILLISECONDS = 1000.0
_COLUMNS = 3
_BESIDE = 1.15  # room beside the first and the last worker count, as a factor
_WIDTH, _HEIGHT = 3.6, 2.7  # inches of a panel
_LINE = 0.2  # inches of a line of text


@style.drawing()
def draw_operations(table: OperationTable) -> Figure:
    """Mean milliseconds of a step in each phase, a panel each, against the number of workers, by doublings.

    Each panel begins at 0 and has a scale of its own; a line for each series that is shown.
    """
    shown, notes, phases = table.shown, table.notes, table.shown_phases
    many = len(shown) > 1
    columns = min(_COLUMNS, len(phases))
    rows = -(-len(phases) // columns)
    width = max(_WIDTH * columns, 2 * _WIDTH)
    lines = len(notes) + (-(-len(shown) // 2) if many else 0)
    figure = style.new_figure(width, _HEIGHT * rows + 1.2 + _LINE * lines)
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    counts = sorted({row.workers for series in shown for row in series.rows})
    for axes, phase in zip(grid, phases, strict=False):
        _draw(axes, table, phase)
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(AxisNumbers())
        axes.set_xlim(counts[0] / _BESIDE, counts[-1] * _BESIDE)
        axes.set_ylim(0.0, 1.05 * axes.get_ylim()[1])
        axes.set(title=phase, xlabel="workers", ylabel="ms per step")
        axes.grid()
    for unused in grid[len(phases) :]:
        unused.remove()
    subtitle = "mean time of a step on rank 0, median over learning rates and seeds"
    title(figure, table.trials.name, "\n".join([subtitle, *notes]), width)
    if many:
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", handlelength=3, ncols=2)
    return figure


def _draw(axes: Axes, table: OperationTable, phase: str) -> None:
    for place, series in enumerate(table.shown):
        known = [(row.workers, MILLISECONDS * row.per_step[phase]) for row in series.rows if phase in row.per_step]
        marker = style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)]
        look: dict[str, Any] = {"color": group_colour(place), "marker": marker, "markersize": 6, "linewidth": 1.9}
        axes.plot([at for at, _ in known], [value for _, value in known], label=group_name(series.key) or "_", **look)
