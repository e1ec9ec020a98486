"""Accuracy against the time of training, on one scale: the paper's runs, the same settings here, and today's recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import title
from experiments.best_per_worker.recorded import GOAL, PUBLISHED, Run, mean_accuracy

_WIDTH = 9.0  # inches
_SEVERAL = {
    "recipe": "today's recipe, mean of {} seeds",
    "longest": "with more augmentation, for longer, mean of {} seeds",
}


@style.drawing()
def draw_accuracies(runs: Mapping[str, Sequence[Run]]) -> Figure:
    """Accuracy on the test set, in percent, over seconds of training on a logarithmic axis; the paper's as points."""
    figure = style.new_figure(_WIDTH, 5.4)
    axes = figure.add_subplot()
    for place, run in enumerate(one for one in runs.get("published", ()) if one.evaluations):
        count = f"{run.trial.workers} worker{'s' if run.trial.workers > 1 else ''}"
        shared = ", sharing a GPU" if run.trial.oversubscribed else ""
        points = [(one.seconds, one.accuracy) for one in run.evaluations]
        _line(axes, points, style.GROUP_COLOURS[place], f"the paper's setting here, {count}{shared}", width=1.2)
    for (name, label), colour in zip(_SEVERAL.items(), style.GROUP_COLOURS[4:], strict=False):
        ones = runs.get(name, ())
        if ones:
            _line(axes, mean_accuracy(ones), colour, label.format(len(ones)), width=2.4)
    for place, (workers, (accuracy, seconds)) in enumerate(PUBLISHED.items()):
        colour, marker = style.GROUP_COLOURS[place], style.GROUP_MARKERS[place]
        axes.plot(seconds, 100 * accuracy, marker, color=colour, markersize=9, markeredgecolor="white", zorder=3)
        words = f"paper, {workers} worker{'s' if workers > 1 else ''}"
        axes.annotate(words, (seconds, 100 * accuracy), (-8, -4), textcoords="offset points", ha="right", va="top")
    axes.axhline(100 * GOAL, color=style.INK, linestyle=(0, (6, 4)), linewidth=1.0, zorder=1.5)
    axes.set_xscale("log")
    axes.set(xlabel="training time, s", ylabel="accuracy on the test set, %")
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.set_ylim(bottom=30)
    axes.grid()
    title(figure, "Accuracy over time", f"AlexNet-CIFAR on CIFAR-10; dashed: the paper's {100 * GOAL:g} %", _WIDTH)
    figure.legend(loc="outside lower left", ncols=2, handlelength=3)
    return figure


def _line(axes: Axes, points: Sequence[tuple[float, float]], colour: str, label: str, width: float) -> None:
    seconds, accuracies = [at for at, _ in points], [100 * accuracy for _, accuracy in points]
    axes.plot(seconds, accuracies, color=colour, linewidth=width, label=label)
