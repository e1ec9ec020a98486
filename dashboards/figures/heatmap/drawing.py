"""The heatmap: areas over batch size and learning rate, one panel per group."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from dashboards.figures.drawing import style
from dashboards.figures.drawing.colour_scale import ColourScale, ink_on
from dashboards.figures.drawing.panels import arrange
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.heatmap.table import LETTERS, Cell, Grid, grids
from dashboards.figures.tables import Outcome, TrialTable
from dashboards.figures.words.labels import (
    area_unit,
    batch_word,
    group_name,
    nearest_name,
    result_name,
    seeds_name,
    threshold_name,
)
from dashboards.figures.words.numbers import measure, settings
from sweeper.spec.repeats import LEVEL

_CELL_WIDTH, _CELL_HEIGHT = 0.6, 0.42  # inches
_TEXT_WIDTH, _TEXT_HEIGHT = 0.42, 0.16  # inches that the text of a cell needs
_LINE_HEIGHT = 0.17  # inches of a further line in a panel's title
_SMALLEST, _LARGEST = (3.7, 1.3), (40.0, 40.0)  # inches of a panel
DERIVED, AT_CHANCE = "d", "c"  # in a cell's corner
_RIVAL_LINES: tuple[dict[str, Any], ...] = (  # seen on dark and on light cells
    {"edgecolor": "white", "linewidth": 2.0},
    {"edgecolor": style.INK, "linewidth": 1.2, "linestyle": (0, (2.5, 1.5))},
)
_LOOKS: dict[Outcome, tuple[str, str, str]] = {  # face (a qualified cell's only in the legend), hatch, its colour
    Outcome.QUALIFIED: ("#2a788e", "", style.INK),
    Outcome.ABOVE_THRESHOLD: ("#e3e5e8", "////", "#c4c8cd"),
    Outcome.AT_CHANCE: ("#f2e6d5", "----", "#d5bd9b"),
    Outcome.DIVERGED: ("white", "xxxx", "#9a9fa6"),
    Outcome.OVERSUBSCRIBED: ("white", "\\\\\\\\", "#9a9fa6"),
    Outcome.NO_RESULT: ("#f7f7f7", "..", "#c9ccd0"),
}


@style.drawing()
def draw_heatmap(table: TrialTable, not_ruled_out: Collection[str] = ()) -> Figure:
    """The area of each batch size and learning rate, one panel per group in numeric order.

    Colour tells the areas of qualified trials; cells above the threshold keep their number on grey, those at chance on
    sand, diverged ones are crossed out, oversubscribed ones hatched, those without a result are dotted, with a letter
    for the reason. The group's winner has an outline and a star, and cells with a trial that is
    `not_ruled_out` as the best a dashed outline. With repeats a cell is a mean over seeds. Where
    several trials, or settings, share a cell (further swept fields) it shows the best of them, and in small type how
    many they are.

    Raises:
        FigureError: trials without batch size or learning rate, or more groups than a picture can hold.
    """
    shown = grids(table, not_ruled_out)
    rule = f"{threshold_name(table)}{seeds_name(table)}"
    columns = max(len(grid.learning_rates) for grid in shown)
    rows = max(len(grid.batch_sizes) for grid in shown)
    width = min(max(_SMALLEST[0], columns * _CELL_WIDTH), _LARGEST[0])
    height = min(max(_SMALLEST[1], rows * _CELL_HEIGHT), _LARGEST[1])
    titles = [wrap(_title(grid, table), width, style.TITLE_PT) for grid in shown]
    further_lines = max(title.count("\n") for title in titles)
    panels = arrange(
        table,
        width=width,
        heights=[height + further_lines * _LINE_HEIGHT] * len(shown),
        subtitle=f"area under the loss curve, {area_unit(table.over)}; {rule}",
        columns=2,
    )
    cells = [cell for grid in shown for cell in grid.flat]
    scale = ColourScale.of([c.area for c in cells if c.outcome is Outcome.QUALIFIED and c.area is not None])
    for axes, grid, title in zip(panels.axes, shown, titles, strict=True):
        _draw_panel(axes, grid, scale, width, height)
        axes.set_title(title)
        axes.set(xlabel="learning rate", ylabel=f"{batch_word(table)} size")
    scale.draw_bar(panels.figure, panels.axes, f"area, {area_unit(table.over)}")
    across = 2 if panels.total_width < 8 else 3
    panels.figure.legend(
        handles=_legend(cells), loc="outside lower left", ncols=across, handlelength=2.2, handleheight=1.3
    )
    return panels.figure


def _title(grid: Grid, table: TrialTable) -> str:
    title = f"{group_name(grid.group.key)}: {result_name(grid.group, table)}"
    return title if grid.group.winner else f"{title}; {nearest_name(grid.group, table)}"


def _draw_panel(axes: Axes, grid: Grid, scale: ColourScale, width: float, height: float) -> None:
    columns, rows = len(grid.learning_rates), len(grid.batch_sizes)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    with_text = width / columns >= _TEXT_WIDTH and height / rows >= _TEXT_HEIGHT
    for y, line in enumerate(grid.cells):
        for x, cell in enumerate(line):
            _draw_cell(axes, x, y, cell, scale, with_text=with_text)
    _name_columns(axes, settings(grid.learning_rates), width)
    every = math.ceil(_TEXT_HEIGHT * rows / height)
    axes.set_yticks(range(0, rows, every), settings(grid.batch_sizes)[::every])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _name_columns(axes: Axes, labels: Sequence[str], width: float) -> None:
    """Rates below the panel: upright where they are too long to stand side by side, and not all where too many."""
    space = width / len(labels)
    level = max(map(len, labels)) * 0.08 <= space
    every = 1 if level else math.ceil(_TEXT_HEIGHT / space)
    axes.set_xticks(range(0, len(labels), every), labels[::every], rotation=0 if level else 90)


def _draw_cell(axes: Axes, x: int, y: int, cell: Cell, scale: ColourScale, *, with_text: bool) -> None:
    face, hatch, line = _LOOKS[cell.outcome]
    qualified = cell.outcome is Outcome.QUALIFIED and cell.area is not None
    fill = scale.colour(cell.area) if qualified and cell.area is not None else to_rgba(face)
    corner = (x - 0.5, y - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=fill, edgecolor=line, hatch=hatch, linewidth=0))
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="white", linewidth=1.2))
    if with_text:
        _write(axes, x, y, cell, ink_on(fill) if qualified else style.MUTED, halo=face if hatch else "")
    if cell.rival:
        _mark_rival(axes, x, y)
    if cell.winner:
        _mark_winner(axes, x, y)


def _write(axes: Axes, x: int, y: int, cell: Cell, ink: str, halo: str) -> None:
    effects = [withStroke(linewidth=2.5, foreground=halo)] if halo else []
    text = cell.letter if cell.area is None else measure(cell.area)
    if text:
        axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=8, path_effects=effects)
    if marks := _marks(cell):
        corner, inset = (x - 0.5, y + 0.5), (3, 2.5)
        look = {"ha": "left", "va": "bottom", "color": ink, "fontsize": 6, "style": "italic", "path_effects": effects}
        _write_at(axes, marks, corner, inset, **look)
    if cell.count > 1:
        corner, inset = (x + 0.5, y + 0.5), (-3, 2.5)
        _write_at(axes, f"×{cell.count}", corner, inset, va="bottom", color=ink, fontsize=6, path_effects=effects)


def _marks(cell: Cell) -> str:
    """The letters in a cell's corner; what its look says by itself needs none."""
    return (AT_CHANCE if _is_qualified_at_chance(cell) else "") + (DERIVED if cell.derived else "")


def _is_qualified_at_chance(cell: Cell) -> bool:
    return cell.at_chance and cell.outcome is Outcome.QUALIFIED


def _mark_winner(axes: Axes, x: int, y: int) -> None:
    outline = Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=style.WINNER, linewidth=2.6, zorder=3)
    outline.set_clip_on(False)
    axes.add_patch(outline)
    corner, inset = (x + 0.5, y - 0.5), (-1.5, -0.5)
    effects = [withStroke(linewidth=1.5, foreground="white")]
    _write_at(axes, "★", corner, inset, va="top", color=style.WINNER, fontsize=9, path_effects=effects, zorder=4)


def _mark_rival(axes: Axes, x: int, y: int) -> None:
    inset = 0.07
    side = 1 - 2 * inset
    for look in _RIVAL_LINES:
        axes.add_patch(Rectangle((x - 0.5 + inset, y - 0.5 + inset), side, side, fill=False, zorder=2.5, **look))


def _write_at(axes: Axes, text: str, corner: tuple[float, float], inset: tuple[float, float], **look: Any) -> None:
    """A small text in a corner of a cell, `inset` points from it; a right one where nothing is said."""
    axes.annotate(text, corner, inset, textcoords="offset points", **{"ha": "right", **look})


def _legend(cells: Sequence[Cell]) -> list[Artist]:
    handles: list[Artist] = []
    seen = {cell.outcome for cell in cells}
    for outcome, (face, hatch, line) in _LOOKS.items():
        if outcome in (Outcome.OVERSUBSCRIBED, Outcome.AT_CHANCE) and outcome not in seen:
            continue  # few sweeps have any
        name = f"{outcome}, never learnt" if outcome is Outcome.AT_CHANCE else str(outcome)
        if outcome is Outcome.NO_RESULT:
            states = {cell.state for cell in cells if cell.letter}
            reasons = [f"{letter} {meaning}" for state, (letter, meaning) in LETTERS.items() if state in states]
            name = ": ".join([name, ", ".join(reasons)]) if reasons else name
        handles.append(Patch(facecolor=face, hatch=hatch, edgecolor=line, linewidth=0, label=name))
    handles.append(
        Line2D(
            [],
            [],
            linestyle="none",
            marker="*",
            markersize=9,
            color=style.WINNER,
            label="smallest area of the qualified",
        )
    )
    if any(cell.rival for cell in cells):
        name = f"may be the best: not ruled out at {100 * LEVEL:g} %"
        handles.append(Patch(fill=False, **_RIVAL_LINES[1], label=name))
    if any(map(_is_qualified_at_chance, cells)):
        handles.append(Line2D([], [], linestyle="none", label=f"{AT_CHANCE}: at chance, never learnt"))
    if any(cell.derived for cell in cells):
        handles.append(Line2D([], [], linestyle="none", label=f"{DERIVED}: derived, losses of another trial"))
    if any(cell.count > 1 for cell in cells):
        handles.append(Line2D([], [], linestyle="none", label="×n: best of n trials"))
    return handles
