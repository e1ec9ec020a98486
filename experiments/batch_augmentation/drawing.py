"""Errors on the test set, over epochs and over the time of training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.drawing.panels import title
from experiments.batch_augmentation.recorded import GOAL, Run

_WIDTH = 10.0  # inches
_TICKS = (5, 6, 8, 10, 15, 20, 30, 50, 80)


@style.drawing()
def draw_errors(runs: Sequence[Run]) -> Figure:
    """Percent of the test set that is wrong, on a logarithmic axis: over epochs, and over seconds of training."""
    figure = style.new_figure(_WIDTH, 5.0)
    over_epochs, over_seconds = figure.subplots(1, 2, sharey=True).tolist()
    for place, run in enumerate(runs):
        label = f"M = {run.instances}" + ("" if run.cutout else ", without Cutout")
        errors = run.errors
        for axes, position in ((over_epochs, 0), (over_seconds, 1)):
            at = [one[position] for one in errors]
            axes.plot(at, [100 * one[2] for one in errors], color=group_colour(place), linewidth=1.7, label=label)
    over_seconds.set_xscale("log")
    over_seconds.xaxis.set_major_formatter(AxisNumbers())
    _scale(over_epochs, "epochs")
    _scale(over_seconds, "training time, s")
    over_epochs.set_ylabel("error on the test set, %")
    title(figure, "Batch augmentation", f"resnet-44 on CIFAR-10, 64 samples a step; dashed: {100 * GOAL:g} %", _WIDTH)
    figure.legend(*over_epochs.get_legend_handles_labels(), loc="outside lower left", ncols=len(runs))
    return figure


def _scale(axes: Axes, name: str) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.axhline(100 * GOAL, color=style.INK, linestyle=(0, (6, 4)), linewidth=1.0, zorder=1.5)
    axes.set_xlabel(name)
    axes.grid()
