"""The paper's figure 2.1, and its claim in two panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.drawing.panels import title
from experiments.doublings import along_doublings
from experiments.single_neuron.curves import Curve
from experiments.single_neuron.measures import AVERAGED_WINDOWS, STEPS_A_WINDOW, Measures, running_mean
from sweeper.ranking.confidence import interval

_COLUMNS = 2
_WIDTH = 9.0  # inches


@style.drawing()
def draw_losses(words: str, gradients: Sequence[Curve], some: Sequence[Curve]) -> Figure:
    """Loss over steps, a panel for each worker count above one: every step pale, the mean of the last 500 bold.

    Beside it the mean of one worker, dashed.
    """
    shown = [curve for curve in some if curve.workers > 1]
    one = next((curve for curve in gradients if curve.workers == 1), None)
    rows = -(-len(shown) // _COLUMNS)
    figure = style.new_figure(_WIDTH, 2.6 * rows + 1.3)
    grid = figure.subplots(rows, _COLUMNS, squeeze=False, sharex=True, sharey=True).ravel().tolist()
    for axes, curve in zip(grid, shown, strict=False):
        _draw(axes, curve, one)
    for unused in grid[len(shown) :]:
        unused.remove()
    title(figure, "Single neuron", f"loss over steps, {words}, on 2 to 16 workers", _WIDTH)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=3, handlelength=2.4)
    return figure


def _draw(axes: Axes, curve: Curve, one: Curve | None) -> None:
    steps = curve.every * np.arange(1, len(curve.losses) + 1)
    # As pixels: nobody follows ten thousand points of noise as lines.
    axes.plot(
        steps, curve.losses, color=style.GROUP_COLOURS[4], linewidth=0.5, alpha=0.7, rasterized=True, label="every step"
    )
    _draw_mean(axes, curve, "mean of the last 500 steps", color=style.GROUP_COLOURS[0], linewidth=1.9)
    if one:
        looks = {"color": style.INK, "linewidth": 1.1, "linestyle": (0, (5, 3))}
        _draw_mean(axes, one, "the same of one worker", **looks)
    axes.set(title=f"{curve.workers} workers", xlabel="steps", ylabel="loss", ylim=(0.0, 0.5))
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.label_outer()
    axes.grid()


def _draw_mean(axes: Axes, curve: Curve, label: str, **looks: object) -> None:
    means = running_mean(curve.windows)
    steps = STEPS_A_WINDOW * (np.arange(len(means)) + AVERAGED_WINDOWS)
    axes.plot(steps, means, label=label, **looks)  # type: ignore[arg-type]


@style.drawing()
def draw_claim(seeds: Mapping[int, Sequence[Measures]]) -> Figure:
    """Steps and images to a loss of 0.06, and noise, against workers: means over seeds with their intervals."""
    figure = style.new_figure(_WIDTH, 3.9)
    speed, noise = figure.subplots(1, 2)
    of_steps = {workers: [one.fast for one in some] for workers, some in seeds.items()}
    of_images = {workers: [at and workers * at for at in some] for workers, some in of_steps.items()}
    reached = any(one is not None for some in of_steps.values() for one in some)
    _draw_means(speed, of_steps, "steps of each worker", 0)
    _draw_means(speed, of_images, "images of all workers", 1)
    speed.set(title="until the mean loss of 500 steps is 0.06", ylabel="steps, images")
    of_noise = {workers: [one.noise for one in some] for workers, some in seeds.items()}
    _draw_means(noise, of_noise, "noise in the last 2,000 steps", 2)
    first = [value for value in of_noise.get(1, ()) if value is not None]
    if first:
        expected = [float(np.mean(first)) / math.sqrt(workers) for workers in seeds]
        noise.plot(
            list(seeds), expected, color=style.INK, linewidth=1.0, linestyle=(0, (5, 3)), label="one worker's / √N"
        )
    noise.set(title="noise of the loss", ylabel="standard deviation")
    for axes in (speed, noise):
        along_doublings(axes, list(seeds), "workers", logarithmic=axes is speed and reached)
        axes.legend(loc="best")
    count = max(len(some) for some in seeds.values())
    title(figure, "Single neuron", f"gradients averaged: mean and 95 % interval over {count} seeds", _WIDTH)
    return figure


def _draw_means(axes: Axes, values: Mapping[int, Sequence[float | None]], label: str, place: int) -> None:
    known = {at: [one for one in some if one is not None] for at, some in values.items()}
    whole = {at: some for at, some in known.items() if some and len(some) == len(values[at])}
    means = [float(np.mean(some)) for some in whole.values()]
    ends = [interval(some) or (mean, mean) for some, mean in zip(whole.values(), means, strict=True)]
    errors = np.array([[mean - low, high - mean] for mean, (low, high) in zip(means, ends, strict=True)]).reshape(-1, 2)
    axes.errorbar(
        list(whole),
        means,
        yerr=errors.T,
        color=group_colour(place),
        marker=style.GROUP_MARKERS[place],
        markersize=5.5,
        linewidth=1.9,
        capsize=3,
        label=label,
    )
