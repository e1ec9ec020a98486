"""Two sweeps side by side: the difference of their areas in each cell, one panel per worker count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import PercentFormatter

from dashboards.figures.comparison.table import (
    ComparedCell,
    Comparison,
    check_comparison,
    colour_span,
    differences_words,
)
from dashboards.figures.drawing import style
from dashboards.figures.drawing.colour_scale import ink_on
from dashboards.figures.drawing.panels import title
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.tables import GLOBAL_BATCH_SIZE, WORKERS
from dashboards.figures.words.labels import area_unit, group_name
from dashboards.figures.words.numbers import measure, settings
from sweeper.ranking import sort_key

DIVERGING = "PuOr_r"  # told apart with any colour vision: the better is violet
_CELL_WIDTH, _CELL_HEIGHT = 0.66, 0.42  # inches
_TEXT_WIDTH = 0.46  # inches that the text of a cell needs
_SMALLEST, _LARGEST = (3.7, 1.3), (40.0, 40.0)
_ONE_ONLY = {"first": ("#e3e5e8", "////"), "second": ("#e3e5e8", "\\\\\\\\"), "neither": ("#f7f7f7", "..")}


@style.drawing()
def draw_comparison(table: Comparison) -> Figure:
    """By how much the second sweep's area is smaller or larger than the first's, in each cell of both.

    Colour tells the difference as a share of the first's area, violet where the second is better. A cell that only one
    of them has an area for is hatched and has that area; one without any is dotted.

    Raises:
        FigureError: trials without batch size or learning rate, or more worker counts than a picture can hold.
    """
    check_comparison(table)
    sizes = sorted({cell.batch_size for cell in table.cells}, key=sort_key)
    rates = sorted({cell.learning_rate for cell in table.cells}, key=sort_key)
    width = min(max(_SMALLEST[0], len(rates) * _CELL_WIDTH), _LARGEST[0])
    height = min(max(_SMALLEST[1], len(sizes) * _CELL_HEIGHT), _LARGEST[1])
    columns = min(2, len(table.workers))
    lines = math.ceil(len(table.workers) / columns)
    total = columns * (width + 0.9) + 1.4
    figure = style.new_figure(total, lines * (height + 1.1) + 1.9)
    panels = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    span = colour_span(table.cells)
    norm = Normalize(-span, span)
    for axes, workers in zip(panels, table.workers, strict=False):
        cells = [cell for cell in table.cells if cell.workers == workers]
        _draw_panel(axes, cells, sizes, rates, norm, with_text=width / len(rates) >= _TEXT_WIDTH)
        axes.set_title(group_name({WORKERS: workers}))
        batch = "global batch" if table.batch_name == GLOBAL_BATCH_SIZE else "batch"
        axes.set(xlabel="learning rate", ylabel=f"{batch} size")
    for unused in panels[len(table.workers) :]:
        unused.remove()
    bar = figure.colorbar(
        ScalarMappable(norm, matplotlib.colormaps[DIVERGING]), ax=panels[: len(table.workers)], pad=0.02, aspect=30
    )
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    bar.ax.spines[:].set_visible(False)
    bar.set_label("second against first (below zero: better)")
    words = f"area over {table.first.over}, {area_unit(table.first.over)}: difference to"
    words = f"{words} {table.first.name} ({table.first.sweep}). {differences_words(table.differences)}"
    names = wrap(words.strip(), total - 0.4, style.NAME_PT)
    title(figure, f"{table.second.name} ({table.second.sweep})", names, total)
    figure.legend(handles=_legend(), loc="outside lower left", ncols=2 if total < 8 else 3, handlelength=2.2)
    return figure


def _draw_panel(
    axes: Axes,
    cells: Sequence[ComparedCell],
    sizes: Sequence[object],
    rates: Sequence[object],
    norm: Normalize,
    *,
    with_text: bool,
) -> None:
    axes.set(xlim=(-0.5, len(rates) - 0.5), ylim=(len(sizes) - 0.5, -0.5))
    for cell in cells:
        at = (rates.index(cell.learning_rate), sizes.index(cell.batch_size))
        _draw_cell(axes, at, cell, norm, with_text=with_text)
    labels = settings(list(rates))
    level = max(map(len, labels)) * 0.08 <= _CELL_WIDTH
    axes.set_xticks(range(len(rates)), labels, rotation=0 if level else 90)
    axes.set_yticks(range(len(sizes)), settings(list(sizes)))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_cell(axes: Axes, at: tuple[int, int], cell: ComparedCell, norm: Normalize, *, with_text: bool) -> None:
    before, after = cell.areas
    corner = (at[0] - 0.5, at[1] - 0.5)
    if cell.difference is not None:
        share = cell.relative if cell.relative is not None else 0.0
        red, green, blue, alpha = matplotlib.colormaps[DIVERGING](float(norm(share)))
        fill, hatch, ink = (float(red), float(green), float(blue), float(alpha)), "", ""
        ink = ink_on(fill)
        text = f"{share:+.0%}" if cell.relative is not None else f"{cell.difference:+.3g}"
    else:
        side = "first" if before is not None else "second" if after is not None else "neither"
        face, hatch = _ONE_ONLY[side]
        fill, ink = to_rgba(face), style.MUTED
        only = before if before is not None else after
        text = "" if only is None else measure(only)
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=fill, edgecolor="#c4c8cd", hatch=hatch, linewidth=0))
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=1.2))
    if with_text and text:
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8} if hatch else None
        axes.text(*at, text, ha="center", va="center", color=ink, fontsize=8, bbox=box)


def _legend() -> list[Artist]:
    words = {"first": "only the first has an area", "second": "only the second has one", "neither": "neither has one"}
    return [
        Patch(facecolor=face, hatch=hatch, edgecolor="#c4c8cd", linewidth=0, label=words[side])
        for side, (face, hatch) in _ONE_ONLY.items()
    ]
