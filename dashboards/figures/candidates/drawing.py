"""A forest plot: each setting that may be the best on a line, with its expected area and the interval of it."""

from __future__ import annotations

from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from dashboards.figures.candidates.table import Candidate, CandidateGroup, CandidateTable, names_of
from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import WORDS_HEIGHT, arrange
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.words.labels import area_unit, group_name, seeds_name, threshold_name
from sweeper.spec.repeats import LEVEL

_WIDTH = 6.0  # inches of a panel
_LINE_HEIGHT, _LEAST_HEIGHT = 0.26, 0.6
_CHANCE_AT = 1.02  # where chances stand beside a panel, in its widths
_OTHER = "#3b5b7a"


@style.drawing()
def draw_candidates(table: CandidateTable) -> Figure:
    """The settings that are not ruled out, one panel per group, the likeliest on top.

    A line is the interval of what a setting's area is expected to be, a dot its middle, a hollow diamond the area that
    was measured. What is recommended is in colour. Beside each stands the chance that it is the best of its group.
    """
    trials = table.trials
    rule = f"{threshold_name(trials)}{seeds_name(trials)}"
    panels = arrange(
        trials,
        width=_WIDTH,
        heights=[_height(one) for one in table.groups],
        subtitle=f"settings not ruled out as the best at {100 * LEVEL:g} %; {rule}",
        columns=1,
    )
    for axes, one in zip(panels.axes, table.groups, strict=True):
        if one.candidates:
            _draw_panel(axes, one, table)
        else:
            _say_none(axes, one)
    panels.figure.legend(handles=_legend(), loc="outside lower left", ncols=1, handlelength=2.2)
    return panels.figure


def _height(one: CandidateGroup) -> float:
    return max(_LEAST_HEIGHT, len(one.shown) * _LINE_HEIGHT) if one.candidates else WORDS_HEIGHT


def _draw_panel(axes: Axes, one: CandidateGroup, table: CandidateTable) -> None:
    shown = one.shown
    axes.set_title(_title(one))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(range(len(shown)), names_of(one, table.trials))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for place, (found, label) in enumerate(zip(shown, axes.get_yticklabels(), strict=True)):
        _draw_line(axes, place, found)
        if found.recommended:
            label.set(color=style.WINNER, fontweight="bold")
    axes.margins(x=0.05)
    axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.grid(axis="x")
    axes.set_xlabel(f"area, {area_unit(table.trials.over)}")
    head: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "color": style.MUTED}
    axes.annotate("chance to be the best", (_CHANCE_AT, 1.0), (0, 3), **head)


def _title(one: CandidateGroup) -> str:
    left_out = len(one.candidates) - len(one.shown)
    more = f"; {left_out} more are less likely" if left_out else ""
    return f"{group_name(one.group.key)}{more}"


def _draw_line(axes: Axes, place: int, found: Candidate) -> None:
    colour = style.WINNER if found.recommended else _OTHER
    axes.plot([found.low, found.high], [place, place], color=colour, linewidth=2.2, solid_capstyle="round")
    axes.plot([found.area], [place], "o", color=colour, markersize=6)
    if found.row.area is not None:
        axes.plot([found.row.area], [place], "D", color=style.INK, markersize=4.5, fillstyle="none", zorder=3)
    axes.text(
        _CHANCE_AT,
        place,
        found.chance,
        transform=axes.get_yaxis_transform(),
        va="center",
        color=colour if found.recommended else style.INK,
        fontweight="bold" if found.recommended else "normal",
    )


def _say_none(axes: Axes, one: CandidateGroup) -> None:
    axes.set_title(group_name(one.group.key))
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    words = wrap(one.why, _WIDTH, style.TITLE_PT)
    axes.text(0.0, 0.9, words, transform=axes.transAxes, va="top", color=style.MUTED, fontsize=style.TITLE_PT)


def _legend() -> list[Artist]:
    return [
        Line2D([], [], color=_OTHER, marker="o", linewidth=2.2, label="expected area, and where it lies at 95 %"),
        Line2D([], [], color=style.WINNER, marker="o", linewidth=2.2, label="the same of what is recommended"),
        Line2D([], [], linestyle="none", marker="D", fillstyle="none", color=style.INK, label="measured area"),
    ]
