"""Which setting wins at which threshold, by worker count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dashboards.figures.drawing import style
from dashboards.figures.drawing.lines import group_colour
from experiments.cifar10_sweep.recorded import Grid, Reference, Setting, words

_LOWEST, _HIGHEST = 0.6, 2.35  # the latter is just above the loss of guessing among ten classes
_ROW_INCHES = 0.24


@dataclass(frozen=True)
class Stretch:
    """The thresholds at which a setting wins: from its minimum loss up to where another takes over."""

    low: float
    high: float
    winner: Setting


@style.drawing()
def draw_by_threshold(references: Sequence[Reference], threshold: float) -> Figure:
    """A bar for each setting that wins at some threshold, with that of the sweeps marked."""
    found = [(place, one) for place, reference in enumerate(references) for one in stretches(reference.grid())]
    figure = style.new_figure(8.0, _ROW_INCHES * len(found) + 1.4)
    axes = figure.subplots()
    for row, (place, one) in enumerate(found):
        axes.barh(row, one.high - one.low, left=one.low, height=0.7, color=group_colour(place))
    axes.set_yticks(range(len(found)), [words(one.winner) for _, one in found], fontsize=8)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(min([_LOWEST, *(one.low for _, one in found)]), _HIGHEST)
    axes.axvline(threshold, color=style.INK, linewidth=0.9, linestyle="--")
    axes.set(xlabel="threshold of the minimum loss", ylabel="winner, batch size/rate")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    figure.legend(handles=_legend(references), loc="outside upper left", ncols=len(references), handlelength=1.2)
    return figure


def stretches(grid: Grid) -> list[Stretch]:
    """The winners of a grid from the lowest threshold at which anybody qualifies to the highest that is drawn."""
    losses = {one.minimum_loss for one in grid.trials.values() if one.minimum_loss is not None}
    limits = sorted(loss for loss in losses if loss < _HIGHEST)
    found: list[Stretch] = []
    for low, high in zip(limits, [*limits[1:], _HIGHEST], strict=True):
        winner = grid.winner(low)
        if winner is None:
            continue
        if found and found[-1].winner == winner:
            low = found.pop().low
        found.append(Stretch(low, high, winner))
    return found


def _legend(references: Sequence[Reference]) -> list[Patch]:
    return [
        Patch(color=group_colour(place), label=f"{one.words} (over {one.grid().over})")
        for place, one in enumerate(references)
    ]
