"""Speed-up against ranks: a row of panels for each kind of scaling, a panel for each layer and pass."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from engine.channel_parallel.choice import WAYS
from experiments.channel_parallel.layers import KINDS
from experiments.channel_parallel.showing import BY_SAMPLES, PASSES, Timed, panels, speedup
from experiments.doublings import along_doublings, draw_line

_WIDTH = 10.0  # inches


@style.drawing()
def draw_speedups(place: str, found: Sequence[Timed]) -> Figure:
    """Samples a second of each way over those of one rank; medians of rounds, by the time of the slowest rank."""
    shown = list(panels(found))
    figure = style.new_figure(_WIDTH, 6.4)
    grid = figure.subplots(len(KINDS), len(shown) // len(KINDS), sharex=True, sharey=True, squeeze=False)
    counts = sorted({one.workers for one in found})
    top = 1.05 * max(*counts, *(speedup(found, one, which) for one in found for which in PASSES))
    for axes, (layer, scaling, which) in zip(grid.ravel().tolist(), shown, strict=True):
        here = [one for one in found if (one.layer, one.scaling) == (layer, scaling)]
        for place_of_way, way in enumerate(WAYS):
            line = [one for one in here if one.way == way or (one.workers == 1 and one.way == BY_SAMPLES)]
            line = sorted(line, key=lambda one: one.workers)
            values = [speedup(found, one, which) for one in line]
            draw_line(axes, place_of_way, [one.workers for one in line], values, way)
        axes.plot(counts, counts, color=style.INK, linestyle=(0, (2, 3)), linewidth=1.2, label="ideal", zorder=1.5)
        axes.set_title(f"{layer}, {which}")
        along_doublings(axes, counts, "ranks" if scaling == KINDS[-1] else "", logarithmic=False)
    grid[0, 0].set_ylim(0.0, top)  # of all panels
    for number, scaling in enumerate(KINDS):
        grid[number, 0].set_ylabel(f"{scaling} scaling: speed-up")
    title(figure, "Convolutions divided among ranks", f"samples a second on {place} over those of one rank", _WIDTH)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=5)
    return figure
