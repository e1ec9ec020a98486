"""The figures as Plotly draws them, from the same tables as those of matplotlib: one a file.

Each is {"panels": [{"title", "data", "layout", "height", …}], "note"}: panels stand side by side where there is room.
Colours are names of the style sheet's variables, "var(--…)", so that they follow the theme.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from dashboards import frames
from dashboards.frames import TrialTable
from dashboards.pages.plots.accuracy import accuracy_plot
from dashboards.pages.plots.coordinates import coordinates_plot
from dashboards.pages.plots.curves import curves_plot
from dashboards.pages.plots.heatmap import heatmap_plot
from dashboards.pages.plots.histogram import histogram_plot
from dashboards.pages.plots.phases import phases_plot
from dashboards.pages.plots.scaling import scaling_plot
from dashboards.pages.view import View
from sweeper.store import Store

# The tables of chosen trials, of kinds that else show the best of each group.
OF_CHOSEN: dict[str, Callable[[Store, TrialTable, Sequence[str]], Any]] = {
    "curves": frames.chosen_curves,
    "accuracy": frames.chosen_accuracies,
}


def plot(
    kind: str, store: Store, trials: TrialTable, view: View, doubtful: Callable[[], Collection[str]]
) -> dict[str, Any]:
    """A figure of a sweep; `doubtful` finds the pruned trials that might have won by what is asked for.

    Raises:
        FigureError: it cannot be drawn of what the store holds.
    """
    if kind == "curves":
        return curves_plot(store, trials, view.trials)
    if kind == "heatmap":
        return heatmap_plot(trials, doubtful())
    if kind == "histogram":
        return histogram_plot(trials, doubtful())
    if kind == "coordinates":
        return coordinates_plot(frames.coordinate_table(trials))
    if kind == "accuracy":
        return accuracy_plot(
            OF_CHOSEN[kind](store, trials, view.trials) if view.trials else frames.accuracy_table(store, trials)
        )
    if kind == "phases":
        return phases_plot(frames.phase_table(store, trials))
    return scaling_plot(frames.scaling_table(store, trials))
