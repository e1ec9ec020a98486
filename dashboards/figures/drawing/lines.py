"""The line that stands for a group, one of several in the same axes: its looks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from dashboards.figures.drawing import style
from dashboards.figures.drawing.wrapping import wrap

Values = npt.NDArray[np.float64]
WIDTH = 9.0  # inches of a figure with one set of axes


def group_colour(place: int) -> str:
    """Colour of the group at `place` in the table."""
    return style.GROUP_COLOURS[place % len(style.GROUP_COLOURS)]


def draw_group(axes: Axes, place: int, positions: Values, values: Values, *, solid: bool, label: str) -> None:
    """The line of the group at `place`, solid or dotted; values that are not finite are gaps.

    Where all are, or there are none, the group has its entry in the legend all the same.
    """
    drawn = bool(np.isfinite(values).any())
    axes.plot(
        positions,
        values,
        color=group_colour(place),
        linewidth=1.9,
        zorder=2.5,
        linestyle=("-" if solid else ":") if drawn else "none",
        marker=style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)] if drawn else "",
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.7,
        markevery=_markers(values, place),
        label=wrap(label, WIDTH - 1.2, style.TEXT_PT),
    )


def _markers(values: Values, place: int) -> list[int]:
    """Indices of about eight markers, shifted from line to line so that they do not hide each other."""
    known = np.flatnonzero(np.isfinite(values)).tolist()
    stride = max(1, len(known) // 8)
    return known[(place * stride // 4) % stride :: stride]
