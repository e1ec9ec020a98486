"""The curves: loss over the axis of the best trial of each group."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dashboards.figures.curves.table import CurveRow, CurveTable, logarithmic
from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import WIDTH, Values, draw_group, group_colour
from dashboards.figures.drawing.panels import title
from dashboards.figures.tables import TrialTable, check_groups
from dashboards.figures.words.labels import axis_name, line_name, one_of_seeds, threshold_name

_SMOOTHED_FROM = 100  # points; shorter curves are drawn as they are
_WINDOWS = 40  # running means that fit side by side into a curve
_FAR_ABOVE = 2.0  # times the largest loss


@style.drawing()
def draw_curves(table: CurveTable) -> Figure:
    """Loss along the table's axis of the best trial per group, with the threshold as a dashed line.

    Long curves are drawn pale, with their running mean on top. Losses that are not finite are gaps. A group where
    nothing qualified shows the trial that came nearest, dotted, and says so in the legend.

    Raises:
        FigureError: more groups than a picture can hold.
    """
    trials = table.trials
    check_groups(trials)
    figure = style.new_figure(WIDTH, 5.2 + 0.2 * len(table.rows))
    axes = figure.add_subplot()
    alpha = max(0.08, 0.32 / math.sqrt(len(table.rows)))  # the more curves lie over each other, the paler
    windows = [
        _draw_curve(axes, row, line_name(row.group, row.trial, trials, chosen=table.chosen), place, alpha)
        for place, row in enumerate(table.rows)
    ]
    losses = [loss for row in table.rows for loss in row.losses if math.isfinite(loss)]
    _draw_threshold(axes, trials, losses)
    _scale(axes, losses)
    axes.set(xlabel=axis_name(trials.along), ylabel="loss")
    axes.grid()
    note = "; bold: running mean" if any(window > 1 for window in windows) else ""
    what = "loss of chosen trials" if table.chosen else f"loss of the best trial per group{one_of_seeds(trials)}"
    title(figure, trials.name, f"{what}{note}", WIDTH)
    figure.legend(loc="outside lower left", handlelength=3)
    return figure


def smooth(losses: Values, window: int) -> Values:
    """Centred running mean over `window` points, fewer at the ends; gaps (NaN) stay gaps and enter no mean."""
    known = np.isfinite(losses)
    kernel = np.ones(window)
    sums = np.convolve(np.where(known, losses, 0.0), kernel, mode="same")
    counts = np.convolve(known.astype(float), kernel, mode="same")
    return np.where(known, sums / np.maximum(counts, 1.0), np.nan)


def window_of(points: int) -> int:
    """Points of the running mean, odd; 1 for a curve that is short enough to be drawn as it is."""
    return 1 if points < _SMOOTHED_FROM else 2 * (points // _WINDOWS // 2) + 3


def _draw_curve(axes: Axes, row: CurveRow, label: str, place: int, alpha: float) -> int:
    positions = np.array(row.positions, dtype=float)
    losses = np.array(row.losses, dtype=float)
    losses[~np.isfinite(losses)] = np.nan
    window = window_of(len(losses))
    bold = losses
    if window > 1:
        axes.plot(positions, losses, color=group_colour(place), linewidth=0.6, alpha=alpha, zorder=1.5)
        bold = smooth(losses, window)
    missing = " (no points kept)" if row.group.winner and not row.losses else ""
    solid = row.group.winner is not None
    draw_group(axes, place, positions, bold, solid=solid, label=label + missing)
    return window


def _draw_threshold(axes: Axes, trials: TrialTable, losses: Sequence[float]) -> None:
    """A dashed line, or only its name where it lies so far above all losses that it would flatten them."""
    if trials.threshold is None:
        return
    label = threshold_name(trials)
    if math.isfinite(trials.threshold) and trials.threshold <= _FAR_ABOVE * max(losses, default=math.inf):
        dashes = (0, (6, 4))
        axes.axhline(trials.threshold, color=style.INK, linestyle=dashes, linewidth=1.1, zorder=2.2, label=label)
    else:
        axes.plot([], [], linestyle="none", label=f"{label}, not within the picture")


def _scale(axes: Axes, losses: Sequence[float]) -> None:
    axes.margins(x=0.02)
    if logarithmic(losses):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.yaxis.set_major_formatter(AxisNumbers())
