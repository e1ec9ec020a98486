"""The phases: what the time of training went into, a bar per group."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.phases.table import PhaseRow, PhaseTable, phase_name
from dashboards.figures.tables import check_groups
from dashboards.figures.words.labels import group_name, one_of_seeds
from dashboards.figures.words.numbers import measure

_WIDTH = 9.0  # inches
_BAR_INCHES = 0.42
_NAME_INCHES = 2.2
_WRITTEN_FROM = 0.06  # share of the bar
# Of even contrast side by side; hatches tell those apart that repeat a colour.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8fa1b3")
_HATCHES = ("", "///", "...", "xxx")


@style.drawing()
def draw_phases(table: PhaseTable) -> Figure:
    """Shares of the phases in the time of the best trial per group, one bar each, with its seconds in all at the end.

    A group whose trial recorded none has an empty bar that says so.

    Raises:
        FigureError: more groups than a picture can hold.
    """
    check_groups(table.trials)
    figure = style.new_figure(_WIDTH, 2.3 + _BAR_INCHES * len(table.rows))
    axes = figure.add_subplot()
    for place, row in enumerate(table.rows):
        _draw_bar(axes, place, row, table)
    names = [wrap(group_name(row.group.key), _NAME_INCHES, style.TEXT_PT) for row in table.rows]
    axes.set_yticks(range(len(names)), names)
    axes.set(xlim=(0.0, 1.0), ylim=(len(names) - 0.4, -0.6), xlabel="share of the time of rank 0")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    subtitle = f"phases of training of the best trial per group{one_of_seeds(table.trials)}"
    title(figure, table.trials.name, subtitle, _WIDTH)
    handles = [Patch(label=phase_name(name), **look(place)) for place, name in enumerate(table.phases)]
    figure.legend(handles=handles, loc="outside lower left", ncols=min(4, len(handles)), handlelength=1.4)
    return figure


def look(place: int) -> dict[str, Any]:
    """Colour and hatch of the phase at this place of the table."""
    hatch = _HATCHES[place // len(_COLOURS) % len(_HATCHES)]
    return {"facecolor": _COLOURS[place % len(_COLOURS)], "hatch": hatch, "edgecolor": "white"}


def _draw_bar(axes: Axes, place: int, row: PhaseRow, table: PhaseTable) -> None:
    if not row.total:
        axes.text(0.005, place, "no phases recorded", va="center", color=style.MUTED)
        return
    left = 0.0
    for index, name in enumerate(table.phases):
        share = row.seconds.get(name, 0.0) / row.total
        axes.barh(place, share, left=left, height=0.72, linewidth=0.6, **look(index))
        if share >= _WRITTEN_FROM:
            _write_share(axes, left + share / 2, place, share)
        left += share
    axes.annotate(
        f"{measure(row.total)} s", (1.0, place), (5, 0), textcoords="offset points", va="center", annotation_clip=False
    )


def _write_share(axes: Axes, x: float, y: float, share: float) -> None:
    ink: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    box: dict[str, Any] = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.text(x, y, f"{share:.0%}", bbox=box, **ink)
