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
from dashboards.figures.tables import MAXIMUM_GROUPS
from dashboards.figures.words.labels import group_name, one_of_seeds
from sweeper.errors import FigureError

MILLISECONDS = 1000.0
_COLUMNS = 3
_BESIDE = 1.15  # room beside the first and the last worker count, as a factor
_WIDTH, _HEIGHT = 3.6, 2.7  # inches of a panel


@style.drawing()
def draw_operations(table: OperationTable) -> Figure:
    """Mean milliseconds of a step in each phase, a panel each, against the number of workers, by doublings.

    Each panel begins at 0 and has a scale of its own; a line for each value of what groups have beside workers.

    Raises:
        FigureError: more series than a picture can hold.
    """
    if len(table.series) > MAXIMUM_GROUPS:
        raise FigureError(
            f"sweep {table.trials.name!r} has {len(table.series)} series, a figure shows at most {MAXIMUM_GROUPS}",
            "group by a field with fewer values",
        )
    many = len(table.series) > 1
    columns = min(_COLUMNS, len(table.phases))
    rows = -(-len(table.phases) // columns)
    width = max(_WIDTH * columns, 2 * _WIDTH)
    figure = style.new_figure(width, _HEIGHT * rows + 1.2 + (0.2 * len(table.series) if many else 0.0))
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    counts = sorted({row.workers for series in table.series for row in series.rows})
    for axes, phase in zip(grid, table.phases, strict=False):
        _draw(axes, table, phase)
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(AxisNumbers())
        axes.set_xlim(counts[0] / _BESIDE, counts[-1] * _BESIDE)
        axes.set_ylim(bottom=0.0)
        axes.set(title=phase, xlabel="workers", ylabel="ms per step")
        axes.grid()
    for unused in grid[len(table.phases) :]:
        unused.remove()
    subtitle = f"mean time of a step on rank 0, best trial per group{one_of_seeds(table.trials)}"
    title(figure, table.trials.name, subtitle, width)
    if many:
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", handlelength=3, ncols=2)
    return figure


def _draw(axes: Axes, table: OperationTable, phase: str) -> None:
    for place, series in enumerate(table.series):
        known = [(row.workers, MILLISECONDS * row.per_step[phase]) for row in series.rows if phase in row.per_step]
        marker = style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)]
        look: dict[str, Any] = {"color": group_colour(place), "marker": marker, "markersize": 6, "linewidth": 1.9}
        axes.plot([at for at, _ in known], [value for _, value in known], label=group_name(series.key) or "_", **look)
