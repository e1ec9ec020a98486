"""The kinds of figures of a sweep: of which table each is drawn, and which CSV text that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from dashboards import csv_text, figures, frames
from dashboards.frames import CoordinateTable, TrialTable, coordinate_table
from sweeper.store import Store


@dataclass(frozen=True)
class Kind:
    """A figure: `table` reads what it needs beside the trials, `draw` and `csv` make of that what they say."""

    table: Callable[[Store, TrialTable], Any]
    draw: Callable[[Any], Figure]
    csv: Callable[[Any], str]


def _trials(_store: Store, table: TrialTable) -> TrialTable:
    return table


def _coordinates(_store: Store, table: TrialTable) -> CoordinateTable:
    return coordinate_table(table)


KINDS: dict[str, Kind] = {
    "heatmap": Kind(_trials, figures.draw_heatmap, csv_text.trials_csv),
    "histogram": Kind(_trials, figures.draw_histogram, csv_text.trials_csv),
    "curves": Kind(frames.curve_table, figures.draw_curves, csv_text.curves_csv),
    "accuracy": Kind(frames.accuracy_table, figures.draw_accuracy, csv_text.accuracies_csv),
    "coordinates": Kind(_coordinates, figures.draw_coordinates, csv_text.coordinates_csv),
    "phases": Kind(frames.phase_table, figures.draw_phases, csv_text.phases_csv),
    "scaling": Kind(frames.scaling_table, figures.draw_scaling, csv_text.scaling_csv),
}
