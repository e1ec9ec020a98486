"""The accuracy on the test set, or the error, over the axis, of the best trial of each group."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.figures.accuracy.table import AccuracyRow, AccuracyTable, share_name
from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.lines import WIDTH, draw_group
from dashboards.figures.drawing.panels import title
from dashboards.figures.tables import check_groups
from dashboards.figures.words.labels import axis_name, line_name, one_of_seeds
from dashboards.figures.words.numbers import measure


@style.drawing()
def draw_accuracy(table: AccuracyTable) -> Figure:
    """Accuracy, or error, along the table's axis of the best trial per group, the last one in the legend.

    A group where nothing qualified shows the trial that came nearest, dotted, and says so in the legend; one whose
    trial was not evaluated is only there.

    Raises:
        FigureError: more groups than a picture can hold.
    """
    trials = table.trials
    check_groups(trials)
    figure = style.new_figure(WIDTH, 4.8 + 0.2 * len(table.rows))
    axes = figure.add_subplot()
    for place, row in enumerate(table.rows):
        _draw_row(axes, row, table, place)
    axes.margins(x=0.02)
    axes.set_xlim(left=0.0)
    axes.set(xlabel=axis_name(trials.along), ylabel=share_name(table))
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.grid()
    of = "chosen trials" if table.chosen else f"the best trial per group{one_of_seeds(trials)}"
    title(figure, trials.name, f"{table.what} on the test set of {of}", WIDTH)
    figure.legend(loc="outside lower left", handlelength=3)
    return figure


def _draw_row(axes: Axes, row: AccuracyRow, table: AccuracyTable, place: int) -> None:
    label = line_name(row.group, row.trial, table.trials, chosen=table.chosen)
    if row.trial is not None:
        label += f"; last {table.what} {measure(table.values(row)[-1])}" if row.accuracies else "; not evaluated"
    positions, values = np.array(row.positions, dtype=float), np.array(table.values(row), dtype=float)
    draw_group(axes, place, positions, values, solid=row.group.winner is not None, label=label)
