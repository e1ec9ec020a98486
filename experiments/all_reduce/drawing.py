"""Bandwidth against message size: a panel for each number of ranks, a line for each method."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from experiments.all_reduce.speed import Speed
from experiments.doublings import draw_line

_WIDTH = 10.0  # inches
_GIGA = 1e9
_TICKS = {1 << 10: "1 KiB", 1 << 15: "32 KiB", 1 << 20: "1 MiB", 1 << 25: "32 MiB", 1 << 30: "1 GiB"}


@style.drawing()
def draw_bandwidths(place: str, speeds: Sequence[Speed]) -> Figure:
    """The bus bandwidth in GB/s against the message's bytes, both logarithmic; medians of rounds."""
    counts = sorted({speed.workers for speed in speeds})
    methods = list(dict.fromkeys(speed.method for speed in speeds))
    figure = style.new_figure(_WIDTH, 4.4)
    panels = figure.subplots(1, len(counts), sharey=True, squeeze=False).ravel().tolist()
    for axes, count in zip(panels, counts, strict=True):
        here = [speed for speed in speeds if speed.workers == count]
        for number, method in enumerate(methods):
            line = [speed for speed in here if speed.method == method]
            draw_line(axes, number, [one.size for one in line], [one.bus_bandwidth / _GIGA for one in line], method)
        shared = ", sharing cores" if any(speed.shared for speed in here) else ""
        axes.set(title=f"{count} ranks{shared}", xlabel="message")
        _scale(axes)
    panels[0].set_ylabel("bus bandwidth, GB/s")
    words = f"sums over ranks on {place}, median of rounds, by the time of the slowest rank"
    title(figure, "All-reduce", words, _WIDTH)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
    return figure


def _scale(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(_TICKS), list(_TICKS.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid()
