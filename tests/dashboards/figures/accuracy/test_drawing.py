"""The matplotlib drawing holds what the table of accuracy says."""

from __future__ import annotations

import numpy as np

from dashboards.figures import FIGURES, Choices, Source
from dashboards.figures.accuracy.drawing import draw_accuracy
from dashboards.figures.accuracy.table import accuracy_table
from dashboards.figures.curves.drawing import draw_curves
from dashboards.figures.curves.table import curve_table
from dashboards.figures.tables import trial_table
from sweeper.store import Store, SweepRecord
from tests.dashboards.sweeps import evaluated


def test_accuracies_show_the_best_trials_and_who_was_not_evaluated(store: Store, named: SweepRecord) -> None:
    for trial in store.trials.of(named.id):
        if trial.workers != 1:
            evaluated(store, trial.id, 0.25, 0.5, 0.375 if trial.workers == 2 else 0.125)
    figure = draw_accuracy(accuracy_table(store, trial_table(store, named)))
    (axes,) = figure.axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == [
        "1 worker: none of 4 qualified, nearest is batch 16, rate 0.1; not evaluated",
        "2 workers: batch 128, rate 0.5, area 15.62; last accuracy 0.3750",
        "10 workers: none of 4 qualified, nearest is batch 16, rate 0.1; last accuracy 0.1250",
    ]
    assert [line.get_linestyle() for line in lines.values()] == ["None", "-", ":"]
    drawn = axes.lines[1]
    assert np.asarray(drawn.get_xdata()).tolist() == [0.5, 1.0, 1.5]
    assert np.asarray(drawn.get_ydata()).tolist() == [0.25, 0.5, 0.375]
    assert drawn.get_markevery() == [0, 1, 2]
    assert axes.get_xlim()[0] == 0.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("training time, s", "accuracy, share of the test set")


def test_a_group_looks_the_same_among_accuracies_as_among_curves(store: Store, named: SweepRecord) -> None:
    for trial in store.trials.of(named.id):
        evaluated(store, trial.id, 0.25, 0.5)
    table = trial_table(store, named)
    accuracies = draw_accuracy(accuracy_table(store, table)).axes[0].lines
    curves = draw_curves(curve_table(store, table)).axes[0].lines
    for one, other in zip(accuracies, curves[:3], strict=True):
        assert one.get_color() == other.get_color()
        assert one.get_marker() == other.get_marker()
        assert str(one.get_label()).startswith(str(other.get_label()))


def test_errors_are_drawn_where_they_are_asked_for(store: Store, named: SweepRecord) -> None:
    for trial in store.trials.of(named.id):
        evaluated(store, trial.id, 0.25, 0.375)
    source = Source(store, trial_table(store, named), choices=Choices(error=True))
    figure = FIGURES["accuracy"]
    (axes,) = figure.draw(figure.table(source)).axes
    assert axes.get_ylabel() == "error, share of the test set wrong"
    assert str(axes.lines[1].get_label()).endswith("; last error 0.6250")
    assert np.asarray(axes.lines[1].get_ydata()).tolist() == [0.75, 0.625]
    (panel,) = figure.plotly(source)["panels"]
    assert panel["layout"]["yaxis"]["title"]["text"] == "error, share of the test set wrong"
    assert panel["data"][1]["y"] == [0.75, 0.625]
