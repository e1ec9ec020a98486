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
_HEADROOM = 1.08  # above the highest first loss; spikes beyond it are cut off


@style.drawing()
def draw_curves(place: str, ours: Runs, rivals: Mapping[str, Runs], level: float) -> Figure:
    """Loss against seconds, which are logarithmic, of the first seed; the dashed line is the loss that is timed.

    Losses go up to where the curves begin: a single spike above is cut off, or it would flatten all of them.
    """
    settings, named = sorted(ours), {"the engine": ours, **rivals}
    columns = 3 if len(settings) % 3 == 0 else min(2, len(settings))
    rows = -(-len(settings) // columns)
    width = _PANEL * columns + 0.6
    figure = style.new_figure(width, 2.9 * rows + 1.4)
    axes_of = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel().tolist()
    for unused in axes_of[len(settings) :]:
        unused.remove()
    for axes, setting in zip(axes_of, settings, strict=False):
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
    drawn = axes_of[: len(settings)]
    top = _HEADROOM * max(line.get_ydata()[0] for axes in drawn for line in axes.get_lines()[:-1])
    for axes in drawn[::columns]:
        axes.set(ylabel="loss")
    drawn[0].set_ylim(top=top)
    spikes = any(max(line.get_ydata()) > top for axes in drawn for line in axes.get_lines())
    handles = {label: line for axes in drawn for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3, handlelength=3)
    words = "same weights, images and order; one seed" + ("; spikes are cut off" if spikes else "")
    title(figure, f"The engine beside DDP: {place}", words, width)
    return figure


def _curve(run: Run) -> tuple[Sequence[float], Sequence[float]]:
    return [point.seconds for point in run.points], [point.loss for point in run.points]
