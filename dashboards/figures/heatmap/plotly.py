"""The heatmap: a panel for each group."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from dashboards.figures.drawing.colour_scale import ColourScale
from dashboards.figures.heatmap.table import Cell, Grid, grids
from dashboards.figures.plotly.layout import WINNER, axis, panel, safe
from dashboards.figures.tables import LEARNING_RATE, Outcome, TrialGroup, TrialTable, check_groups
from dashboards.figures.words.labels import area_unit, batch_word, group_name, nearest_name, result_name
from dashboards.figures.words.numbers import measure, number, settings
from sweeper.spec.repeats import LEVEL

_WRITTEN = 400  # cells of a panel up to which each has its number
_WRITTEN_COLUMNS = 20
_SIGNS = {Outcome.AT_CHANCE: "○", Outcome.DIVERGED: "✕", Outcome.OVERSUBSCRIBED: "≋"}
_SHADES = {Outcome.ABOVE_THRESHOLD: 1.0, Outcome.AT_CHANCE: 0.5}


def heatmap_plot(table: TrialTable, doubtful: Collection[str], not_ruled_out: Collection[str] = ()) -> dict[str, Any]:
    """Areas by batch size and learning rate; see `drawing.draw_heatmap`.

    Each panel's "cells" says to which list of trials a click leads. A "?" marks a cell with a pruned trial that might
    have won by what is asked for.

    Raises:
        FigureError: trials without batch size or learning rate, or more groups than a page can hold.
    """
    check_groups(table)
    shown = grids(table, not_ruled_out)
    scale = ColourScale.of([c.area for g in shown for c in g.flat if _qualified(c) and c.area is not None])
    note = (
        "Outlined: the smallest area of the qualified. Grey: above the threshold. Sand, ○: at chance (never learnt). "
        "✕ diverged, ≋ oversubscribed, P pruned, R running, W waiting, F failed, C cancelled, N no area; d derived; "
        "? pruned, but might have won by this threshold."
    )
    if not_ruled_out:
        note = f"Dashed: may be the best, not ruled out at {100 * LEVEL:g} %. {note}"
    most = max(cell.count for grid in shown for cell in grid.flat)
    note += f" A cell shows the best of up to {most} trials." if most > 1 else ""
    return {"panels": [_panel(grid, table, scale, doubtful) for grid in shown], "note": note}


def _panel(grid: Grid, table: TrialTable, scale: ColourScale, doubtful: Collection[str]) -> dict[str, Any]:
    columns, lines = settings(grid.learning_rates), settings(grid.batch_sizes)
    written = len(grid.flat) <= _WRITTEN and len(columns) <= _WRITTEN_COLUMNS
    doubts = _doubtful_cells(grid.group, doubtful)
    marks = [[(size, rate) in doubts for rate in grid.learning_rates] for size in grid.batch_sizes]
    common: dict[str, Any] = {
        "x": [safe(text) for text in columns],
        "y": [safe(text) for text in lines],
        "xgap": 2 if len(columns) < 60 else 0,
        "ygap": 2,
    }
    common |= {"type": "heatmap", "hoverinfo": "text", "texttemplate": "%{text}" if written else ""}
    coloured = {
        **common,
        "z": [[_height(c, scale) if _qualified(c) else None for c in line] for line in grid.cells],
        "text": [[_text(c, mark=False) if _qualified(c) else "" for c in line] for line in grid.cells],
        "hovertext": [[_words(c) if _qualified(c) else "" for c in line] for line in grid.cells],
        "colorscale": "Viridis",
        "textfont": {"size": 11},
        **_bar(scale, table.over),
        "hoverongaps": False,
    }
    grey = {
        **common,
        "z": [[None if _qualified(c) else _shade(c) for c in line] for line in grid.cells],
        "text": [
            ["" if _qualified(c) else _text(c, mark=m) for c, m in zip(line, some, strict=True)]
            for line, some in zip(grid.cells, marks, strict=True)
        ],
        "hovertext": [["" if _qualified(c) else _words(c) for c in line] for line in grid.cells],
        "colorscale": [[0, "var(--cell-empty)"], [0.5, "var(--cell-chance)"], [1, "var(--cell-above)"]],
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "hoverongaps": False,
        "textfont": {"color": "var(--cell-ink)", "size": 11},
    }
    title = f"{group_name(grid.group.key)}: {result_name(grid.group, table)}"
    made = panel(
        title if grid.group.winner else f"{title}; {nearest_name(grid.group, table)}",
        [coloured, grey],
        min(900, max(190, 95 + 30 * len(lines))),
        xaxis=axis("learning rate", type="category", showgrid=False),
        yaxis=axis(f"{batch_word(table)} size", type="category", autorange="reversed", showgrid=False),
        shapes=_outlines(grid),
    )
    return {**made, "cells": _addresses(grid, table), "columns": len(columns)}


def _addresses(grid: Grid, table: TrialTable) -> dict[str, Any]:
    return {
        "href": f"/sweeps/{table.sweep}/trials?{urlencode(grid.group.key)}",
        "x": LEARNING_RATE,
        "xs": [str(value) for value in grid.learning_rates],
        "y": table.batch_name,
        "ys": [str(value) for value in grid.batch_sizes],
    }


def _doubtful_cells(group: TrialGroup, doubtful: Collection[str]) -> set[tuple[Any, Any]]:
    return {(row.batch_size, row.learning_rate) for row in group.rows if row.trial in doubtful} if doubtful else set()


def _qualified(cell: Cell) -> bool:
    return cell.outcome is Outcome.QUALIFIED and cell.area is not None


def _height(cell: Cell, scale: ColourScale) -> float | None:
    if cell.area is None:
        return None
    return math.log10(cell.area) if scale.logarithmic else cell.area


def _bar(scale: ColourScale, over: str) -> dict[str, Any]:
    low, high = (math.log10(scale.low), math.log10(scale.high)) if scale.logarithmic else (scale.low, scale.high)
    if low == high:
        return {"zmin": low - 1, "zmax": high + 1, "showscale": False}
    ticks = scale.ticks()
    positions = [math.log10(tick) for tick in ticks] if scale.logarithmic else ticks
    look = {"thickness": 10, "outlinewidth": 0, "len": 1, "title": {"text": area_unit(over), "side": "right"}}
    return {
        "zmin": low,
        "zmax": high,
        "colorbar": {**look, "tickvals": positions, "ticktext": [number(tick) for tick in ticks]},
    }


def _shade(cell: Cell) -> float:
    return _SHADES.get(cell.outcome, 0.0)


def _text(cell: Cell, *, mark: bool) -> str:
    text = _SIGNS.get(cell.outcome) or (cell.letter if cell.area is None else measure(cell.area))
    chance = cell.at_chance and cell.outcome is Outcome.QUALIFIED
    marks = ("?" if mark else "") + (" ○" if chance else "") + (" d" if cell.derived else "")
    return ("★" if cell.winner else "") + text + marks


def _words(cell: Cell) -> str:
    if cell.state is None:
        return "no trial of the plan is here"
    area = "" if cell.area is None else f"area {measure(cell.area)}<br>"
    many = f"<br>best of {cell.count} trials" if cell.count > 1 else ""
    derived = "<br>derived: losses of another trial" if cell.derived else ""
    chance = "<br>at chance: never learnt" if cell.at_chance else ""
    rival = "<br>not ruled out as the best" if cell.rival else ""
    return f"{area}{cell.outcome}, {cell.state}{rival}{chance}{derived}{many}"


def _outlines(grid: Grid) -> list[dict[str, Any]]:
    places = [(x, y, cell) for y, line in enumerate(grid.cells) for x, cell in enumerate(line)]
    rivals = [
        _rectangle(x, y, 0.43, line)
        for x, y, cell in places
        if cell.rival
        for line in ({"color": "white", "width": 2.5}, {"color": "black", "width": 1.5, "dash": "dot"})
    ]
    return [*rivals, *(_rectangle(x, y, 0.5, {"color": WINNER, "width": 3}) for x, y, cell in places if cell.winner)]


def _rectangle(x: int, y: int, reach: float, line: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rect", "x0": x - reach, "x1": x + reach, "y0": y - reach, "y1": y + reach, "line": line}
