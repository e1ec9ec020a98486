"""Axes that studies share: lines with markers against something that doubles, for example worker counts."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour

_DECADE = 10.0


def draw_line(
    axes: Axes, place: int, at: Sequence[float], values: Sequence[float], label: str, *, joined: bool = True
) -> None:
    """The line at a place of the legend, which says its colour and marker; markers alone unless `joined`."""
    axes.plot(
        at,
        values,
        color=group_colour(place),
        marker=style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)],
        markersize=5.5,
        linewidth=1.9,
        linestyle="-" if joined else "none",
        label=label,
    )


def spans_a_decade(values: Sequence[float]) -> bool:
    """Whether values differ by so much that a logarithmic axis shows them better than one from zero."""
    known = [value for value in values if value > 0]
    return bool(known) and max(known) >= _DECADE * min(known)


def along_doublings(axes: Axes, at: Sequence[int], name: str, *, logarithmic: bool = True) -> None:
    """Give each of the values `at` a tick along the axis, one step a doubling.

    Numbers upwards are logarithmic, or linear from zero.
    """
    axes.set_xscale("log", base=2)
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0.0)
    _finish(axes, at, name)


def along_counts(axes: Axes, at: Sequence[int], name: str) -> None:
    """Give each of the values `at` a tick on linear axes, upwards from zero: what grows linearly is a straight line."""
    axes.set_ylim(bottom=0.0)
    _finish(axes, at, name)


def _finish(axes: Axes, at: Sequence[int], name: str) -> None:
    axes.set_xticks(at, [str(value) for value in at])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.set_xlabel(name)
    axes.grid()
