"""Scaling: throughput, efficiency and time to threshold by worker count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.drawing.panels import title
from dashboards.figures.scaling.table import ScalingRow, ScalingSeries, ScalingTable, oversubscribed_words
from dashboards.figures.tables import MAXIMUM_GROUPS
from dashboards.figures.words.labels import batch_word, group_name, threshold_name
from sweeper.errors import FigureError

_WIDTH = 11.0  # inches of three panels side by side
_Value = Callable[[ScalingRow], float | None]


@style.drawing()
def draw_scaling(table: ScalingTable) -> Figure:
    """Images a second with the line of perfect scaling, parallel efficiency, and seconds to the threshold.

    All against the number of workers, by doublings; a line for each value of what groups have beside it.

    Raises:
        FigureError: more series than a picture can hold.
    """
    if len(table.series) > MAXIMUM_GROUPS:
        raise FigureError(
            f"sweep {table.trials.name!r} has {len(table.series)} series, a figure shows at most {MAXIMUM_GROUPS}",
            "group by a field with fewer values",
        )
    many = len(table.series) > 1
    figure = style.new_figure(_WIDTH, 4.3 + (0.2 * len(table.series) if many else 0.0))
    rates, efficiency, threshold = figure.subplots(1, 3).tolist()
    for place, series in enumerate(table.series):
        _draw(rates, series, place, lambda row: row.throughput, label=group_name(series.key) if many else "measured")
        _draw(efficiency, series, place, lambda row: row.efficiency)
        _draw(threshold, series, place, lambda row: row.to_threshold)
        _draw_perfect(rates, series, label="perfect" if place == 0 else "")
    efficiency.axhline(1.0, color=style.MUTED, linestyle=(0, (2, 3)), linewidth=1.2)
    counts = sorted({row.workers for series in table.series for row in series.rows})
    for axes, name in ((rates, "throughput, images/s"), (efficiency, "parallel efficiency"), (threshold, _soon(table))):
        _scale_workers(axes, counts)
        axes.set(ylabel=name, xlabel="workers")
        axes.grid()
    _scale_values(rates, efficiency, threshold)
    title(figure, table.trials.name, _subtitle(table), _WIDTH)
    figure.legend(loc="outside lower left", handlelength=3, ncols=2)
    return figure


def _draw(axes: Axes, series: ScalingSeries, place: int, value: _Value, label: str = "") -> None:
    known = [(row.workers, found) for row in series.rows if (found := value(row)) is not None]
    marker = style.GROUP_MARKERS[place % len(style.GROUP_MARKERS)]
    look: dict[str, Any] = {"color": group_colour(place), "marker": marker, "markersize": 6, "linewidth": 1.9}
    axes.plot([at for at, _ in known], [found for _, found in known], label=label or "_", zorder=2.5, **look)


def _draw_perfect(axes: Axes, series: ScalingSeries, label: str) -> None:
    known = [row for row in series.rows if row.throughput is not None]
    if known and known[0].throughput is not None:
        perfect = [known[0].throughput * row.workers / known[0].workers for row in known]
        look: dict[str, Any] = {"color": style.MUTED, "linestyle": (0, (2, 3)), "linewidth": 1.2}
        axes.plot([row.workers for row in known], perfect, label=label or "_", **look)


def _scale_workers(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.08)


def _scale_values(rates: Axes, efficiency: Axes, threshold: Axes) -> None:
    rates.set_ylim(bottom=0.0)
    threshold.set_ylim(bottom=0.0)
    efficiency.set_ylim(0.0, max(1.1, efficiency.get_ylim()[1]))
    efficiency.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (rates, threshold):
        axes.yaxis.set_major_formatter(AxisNumbers())
    if not any(len(line.get_xydata()) for line in threshold.get_lines()):  # type: ignore[arg-type]
        threshold.set_yticks([])
        threshold.set_ylim(0.0, 1.0)
        at: dict[str, Any] = {"transform": threshold.transAxes, "ha": "center", "va": "center"}
        threshold.text(0.5, 0.5, "no trial came to it", color=style.MUTED, **at)


def _soon(table: ScalingTable) -> str:
    return f"s to {threshold_name(table.trials)}"


def _subtitle(table: ScalingTable) -> str:
    fixed = f"same {batch_word(table.trials)} size at every count"
    shared = f". {words}" if (words := oversubscribed_words(table)) else ""
    of = "median of the settings that all counts have" if table.matched else "median of all complete trials"
    return f"{table.kind} scaling ({fixed}); throughput: {of}; threshold: best trial{shared}"
