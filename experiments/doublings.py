"""Axes that studies share: lines with markers against something that doubles, for example worker counts."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers


def draw_line(axes: Axes, place: int, at: Sequence[float], values: Sequence[float], label: str) -> None:
    """The line at a place of the legend, which says its colour and marker."""
    axes.plot(
        at,
        values,
        color=style.GROUP_COLOURS[place % len(style.GROUP_COLOURS)],
        marker=style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)],
        markersize=5.5,
        linewidth=1.9,
        label=label,
    )


def along_doublings(axes: Axes, at: Sequence[int], name: str, *, logarithmic: bool = True) -> None:
    """Give each of the values `at` a tick along the axis, one step a doubling, and numbers upwards."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(at, [str(value) for value in at])
    axes.xaxis.set_minor_locator(NullLocator())
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.set_xlabel(name)
    axes.grid()
