"""Two sweeps: the difference of their areas, a panel per worker count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dashboards.figures.comparison.table import ComparedCell, Comparison, check_comparison, colour_span
from dashboards.figures.plotly.layout import axis, panel, safe
from dashboards.figures.tables import GLOBAL_BATCH_SIZE, WORKERS
from dashboards.figures.words.labels import group_name
from dashboards.figures.words.numbers import measure, settings
from sweeper.ranking import sort_key

_WRITTEN_COLUMNS = 20
_Cell = ComparedCell | None
# Purple where the second is better, orange where it is worse: told apart with any colour vision.
_COLOURS = [[0, "#542788"], [0.25, "#b2abd2"], [0.5, "#f7f7f7"], [0.75, "#fdb863"], [1, "#b35806"]]


def comparison_plot(table: Comparison) -> dict[str, Any]:
    """Share by which the second's area differs; see `drawing.draw_comparison`.

    Raises:
        FigureError: trials without batch size or learning rate, or more worker counts than a page can hold.
    """
    check_comparison(table)
    sizes = sorted({cell.batch_size for cell in table.cells}, key=sort_key)
    rates = sorted({cell.learning_rate for cell in table.cells}, key=sort_key)
    span = colour_span(table.cells)
    note = (
        "Below zero, purple: the second is better. Grey: only one has an area there, 1 the first, 2 the second; "
        "empty: neither."
    )
    panels = [_panel(table, workers, sizes, rates, span) for workers in table.workers]
    return {"panels": panels, "note": note}


def _panel(table: Comparison, workers: int, sizes: Sequence[Any], rates: Sequence[Any], span: float) -> dict[str, Any]:
    cells = {(c.batch_size, c.learning_rate): c for c in table.cells if c.workers == workers}
    grid = [[cells.get((size, rate)) for rate in rates] for size in sizes]
    written = len(rates) <= _WRITTEN_COLUMNS and len(sizes) <= 20
    common = {
        "type": "heatmap",
        "x": [safe(text) for text in settings(rates)],
        "y": [safe(text) for text in settings(sizes)],
        "texttemplate": "%{text}" if written else "",
        "hoverinfo": "text",
        "hoverongaps": False,
        "xgap": 2,
        "ygap": 2,
    }
    bar = {"tickformat": ".0%", "thickness": 10, "outlinewidth": 0, "len": 1}
    both = {**_values(grid, _share), "zmin": -span, "zmax": span, "colorbar": bar}
    one = {**_values(grid, _one_only), "zmin": 0, "zmax": 1, "showscale": False}
    grey = [[0, "var(--cell-empty)"], [1, "var(--cell-above)"]]
    batch = "global batch" if table.batch_name == GLOBAL_BATCH_SIZE else "batch"
    made = panel(
        group_name({WORKERS: workers}),
        [
            {**common, **both, "colorscale": _COLOURS, "textfont": {"size": 11}},
            {**common, **one, "colorscale": grey, "textfont": {"color": "var(--cell-ink)", "size": 11}},
        ],
        min(900, max(190, 95 + 30 * len(sizes))),
        xaxis=axis("learning rate", type="category", showgrid=False),
        yaxis=axis(f"{batch} size", type="category", autorange="reversed", showgrid=False),
    )
    return {**made, "columns": len(rates)}


def _values(grid: Sequence[Sequence[_Cell]], value: Callable[[_Cell], float | None]) -> dict[str, Any]:
    """A trace's cells: those that have this value, each with its texts; the others are left to the other trace."""
    return {
        "z": [[value(cell) for cell in line] for line in grid],
        "text": [["" if value(cell) is None else _text(cell) for cell in line] for line in grid],
        "hovertext": [["" if value(cell) is None else _words(cell) for cell in line] for line in grid],
    }


def _share(cell: _Cell) -> float | None:
    if cell is None or cell.difference is None:
        return None
    return cell.relative if cell.relative is not None else 0.0


def _one_only(cell: _Cell) -> float | None:
    if cell is None or cell.difference is not None:
        return None
    return 0.0 if cell.areas == (None, None) else 1.0


def _text(cell: _Cell) -> str:
    if cell is None:
        return ""
    if cell.difference is not None:
        return f"{cell.relative:+.0%}" if cell.relative is not None else f"{cell.difference:+.3g}"
    before, after = cell.areas
    return "1" if before is not None else "2" if after is not None else ""


def _words(cell: _Cell) -> str:
    if cell is None:
        return ""
    before, after = ("none" if area is None else measure(area) for area in cell.areas)
    difference = "" if cell.difference is None else f"<br>difference {cell.difference:+.4g}"
    return f"first: {before}<br>second: {after}{difference}"
