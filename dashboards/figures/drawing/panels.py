"""The frame that figures share: panels of one size in rows and columns, under the sweep's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.tables import TrialTable, check_groups

WORDS_HEIGHT = 0.2  # inches of a panel that holds a line of text in place of axes
_MARGIN_WIDTH, _MARGIN_HEIGHT = 0.9, 1.1  # inches around each panel, for titles and labels
_WORDS_MARGIN = 0.45  # the same above and below a panel of words
_LINE_SPACING = 1.4
_WIDEST_PAIR = 9.0  # inches; panels wider than that are stacked


@dataclass(frozen=True)
class Panels:
    """A figure with one set of axes per group; widths are a panel's and the figure's, in inches."""

    figure: Figure
    axes: tuple[Axes, ...]
    width: float
    total_width: float


def arrange(table: TrialTable, *, width: float, heights: Sequence[float], subtitle: str, columns: int) -> Panels:
    """Panels for the groups of a table, of `width` and `heights` (one a group) in inches.

    `columns` side by side at most; panels that are too wide for that are stacked.

    Raises:
        FigureError: more groups than a picture can hold.
    """
    check_groups(table)
    columns = min(columns, len(heights)) if width <= _WIDEST_PAIR else 1
    rows = [max(heights[first : first + columns]) for first in range(0, len(heights), columns)]
    total_width = columns * (width + _MARGIN_WIDTH) + 0.8
    margins = [_WORDS_MARGIN if row == WORDS_HEIGHT else _MARGIN_HEIGHT for row in rows]
    figure = style.new_figure(total_width, sum(rows) + sum(margins) + 1.4)
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=rows).ravel().tolist()
    for unused in grid[len(heights) :]:
        unused.remove()
    title(figure, table.name, subtitle, total_width)
    return Panels(figure, tuple(grid[: len(heights)]), width, total_width)


def title(figure: Figure, name: str, subtitle: str, width: float) -> None:
    """The sweep's name, in as many lines as `width` inches ask for, and below it what the figure shows.

    The figure grows by the lines after the first.
    """
    lines = wrap(name, width - 0.4, style.NAME_PT)
    figure.set_figheight(figure.get_figheight() + lines.count("\n") * style.NAME_PT / 72 * _LINE_SPACING)
    figure.suptitle(f"{lines}\n{subtitle}", x=0.1 / width, ha="left", linespacing=_LINE_SPACING)
