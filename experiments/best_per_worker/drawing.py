"""The runs against the time of training: the paper's settings, and today's recipe beside the paper on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.curves.drawing import smooth, window_of
from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import title
from experiments.best_per_worker.recorded import GOAL, PUBLISHED, Run, mean_accuracy
from sweeper.plan.trial import TrialState

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
    trained = next((f"{run.what}; " for some in runs.values() for run in some), "")
    title(figure, "Accuracy over time", f"{trained}dashed: the paper's {100 * GOAL:g} %", _WIDTH)
    figure.legend(loc="outside lower left", ncols=2, handlelength=3)
    return figure


@style.drawing()
def draw_published_loss(runs: Sequence[Run]) -> Figure:
    """Loss over seconds with the paper's settings: every point thin, the running mean bold."""
    figure, axes = _published(runs, "loss, thin; its running mean, bold")
    window = window_of(max(len(run.points) for run in runs))
    for place, run in enumerate(runs):
        seconds = [point.seconds for point in run.points]
        losses = np.array([point.loss for point in run.points], dtype=float)
        losses[~np.isfinite(losses)] = np.nan
        axes.plot(seconds, losses, color=style.GROUP_COLOURS[place], linewidth=0.9, alpha=0.75, zorder=1.5)
        _run(axes, run, place, seconds, smooth(losses, window).tolist())
    return _finished(figure, axes, "loss")


@style.drawing()
def draw_published_accuracy(runs: Sequence[Run]) -> Figure:
    """Accuracy on the test set, in percent, over seconds with the paper's settings."""
    figure, axes = _published(runs, "accuracy on the test set")
    for place, run in enumerate(runs):
        seconds = [one.seconds for one in run.evaluations]
        _run(axes, run, place, seconds, [100 * one.accuracy for one in run.evaluations])
    return _finished(figure, axes, "accuracy on the test set, %")


def _published(runs: Sequence[Run], shown: str) -> tuple[Figure, Axes]:
    figure = style.new_figure(_WIDTH, 5.2)
    images = runs[0].trial.config["images"]
    title(figure, "The paper's settings, trained on", f"{runs[0].what}, {images:,} images; {shown}", _WIDTH)
    return figure, figure.add_subplot()


def _run(axes: Axes, run: Run, place: int, seconds: Sequence[float], values: Sequence[float]) -> None:
    """The line of a run; a cross ends that of one which did not run to its end, and the legend says at which step."""
    ended = run.trial.state is TrialState.COMPLETED
    shared = ", sharing a GPU" if run.trial.oversubscribed else ""
    label = f"{run.words}{shared}" + ("" if ended else f": {run.end}")
    colour = style.GROUP_COLOURS[place]
    axes.plot(seconds, values, color=colour, linewidth=1.9, label=label, zorder=2.5)
    if not ended:
        last = max(at for at, value in enumerate(values) if np.isfinite(value))
        axes.plot(seconds[last], values[last], "X", color=colour, markersize=9, markeredgecolor="white", zorder=3)


def _finished(figure: Figure, axes: Axes, label: str) -> Figure:
    axes.set(xlabel="training time, s", ylabel=label)
    axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.grid()
    figure.legend(loc="outside lower left", ncols=2, handlelength=3)
    return figure


def _line(axes: Axes, points: Sequence[tuple[float, float]], colour: str, label: str, width: float) -> None:
    seconds, accuracies = [at for at, _ in points], [100 * accuracy for _, accuracy in points]
    axes.plot(seconds, accuracies, color=colour, linewidth=width, label=label)
