"""Loss over time of the engine and of its rivals, a panel for each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import title

if TYPE_CHECKING:
    from experiments.against_ddp.showing import Run, Runs

_PANEL = 3.6  # inches


@style.drawing()
def draw_curves(place: str, ours: Runs, rivals: Mapping[str, Runs], level: float) -> Figure:
    """Loss against seconds, which are logarithmic, of the first seed; the dashed line is the loss that is timed."""
    settings = sorted(ours)
    width = _PANEL * len(settings) + 0.6
    figure = style.new_figure(width, 4.3)
    axes_of = figure.subplots(1, len(settings), sharey=True, squeeze=False).ravel().tolist()
    named = {"the engine": ours, **rivals}
    for axes, setting in zip(axes_of, settings, strict=True):
        workers, batch, rate = setting
        for place_of, (name, runs) in enumerate(named.items()):
            if runs.get(setting):
                axes.plot(*_curve(runs[setting][0]), color=style.GROUP_COLOURS[place_of], linewidth=1.8, label=name)
        axes.axhline(level, color=style.INK, linestyle=(0, (6, 4)), linewidth=1.0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(AxisNumbers())
        axes.set_title(f"{workers} x batch {batch}, rate {rate:g}")
        axes.set(xlabel="training time, s")
        axes.grid()
    axes_of[0].set_ylabel("loss")
    handles = {label: line for axes in axes_of for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3, handlelength=3)
    title(figure, f"The engine beside DDP: {place}", "same weights, images and order; one seed", width)
    return figure


def _curve(run: Run) -> tuple[Sequence[float], Sequence[float]]:
    return [point.seconds for point in run.points], [point.loss for point in run.points]
