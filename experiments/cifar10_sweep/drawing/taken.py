"""What the grid, the exact bound and the forecasts took: machine time and training time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.lines import group_colour
from dashboards.figures.words.numbers import number
from experiments.cifar10_sweep.recorded import Sweeps


@dataclass(frozen=True)
class _Bar:
    label: str
    machine_s: Sequence[float]
    training_s: Sequence[float]


@style.drawing()
def draw_taken(sweeps: Sweeps) -> Figure | None:
    """Seconds of the sweeps of one worker, the mean over their seeds with each seed as a dot; None without any."""
    bars = _bars(sweeps)
    if not bars:
        return None
    figure = style.new_figure(9.0, 0.42 * len(bars) + 1.2)
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, [(bar.label, bar.machine_s) for bar in bars], "machine time, first start to last end, s", 1)
    _draw(right, [(bar.label, bar.training_s) for bar in bars], "training time of all attempts, s", 0)
    left.invert_yaxis()
    return figure


def _bars(sweeps: Sweeps) -> list[_Bar]:
    ways = {"every trial to its end": "grid-1w", "prune: area": "area-1w", "prune: forecast": "forecast-1w"}
    found = []
    for label, name in ways.items():
        ones = [sweep for key, sweep in sweeps.items() if key.partition("-seed")[0] == name]
        if ones:
            training = [one.training_s(one.trials) for one in ones]
            found.append(_Bar(label, [one.machine_s for one in ones], training))
    return found


def _draw(axes: Axes, bars: Sequence[tuple[str, Sequence[float]]], label: str, colour: int) -> None:
    places = range(len(bars))
    means = [fmean(values) for _, values in bars]
    axes.barh(places, means, color=group_colour(colour), height=0.62, alpha=0.75)
    for place, (_, values) in zip(places, bars, strict=True):
        if len(values) > 1:
            axes.plot(values, [place] * len(values), linestyle="none", marker="o", markersize=3.5, color=style.INK)
        seeds = f" (mean of {len(values)} seeds)" if len(values) > 1 else ""
        end = (max(*values, means[place]) if values else means[place], place)
        text = f"{number(means[place], 3)}{seeds}"
        axes.annotate(text, end, (6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(places, [name for name, _ in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(label)
    axes.set_xlim(0, 1.35 * max(max(values) for _, values in bars))
    axes.grid(axis="x")
