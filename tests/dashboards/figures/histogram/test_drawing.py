"""The matplotlib drawing holds what the table of histogram says."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from dashboards.figures.drawing import style
from dashboards.figures.histogram.drawing import draw_histogram
from dashboards.figures.histogram.table import bar_labels, sorted_bars
from dashboards.figures.tables import trial_table
from sweeper.store import Store, SweepRecord
from tests.dashboards.sweeps import curve, run


def test_histogram_sorts_by_minimum_loss_and_colours_the_winner(store: Store, named: SweepRecord) -> None:
    table = trial_table(store, named)
    figure = draw_histogram(table)
    one, two, ten = figure.axes
    assert two.get_title("left") == "2 workers: batch 128, rate 0.5, area 15.62"
    bars = [patch for patch in two.patches if isinstance(patch, Rectangle)]
    assert [bar.get_height() for bar in bars] == pytest.approx([125.0, 15.625, 625.0, 78.125])
    assert [bar.get_facecolor() == to_rgba(style.WINNER) for bar in bars] == [False, True, False, False]
    assert [label.get_text() for label in two.get_xticklabels()] == ["16/0.5", "128/0.5", "16/0.1", "128/0.1"]
    assert two.get_xlabel() == "batch size / learning rate, by minimum loss: 1.000 to 1.400"
    assert "best minimum loss 2.500, threshold 1.8" in [text.get_text() for text in ten.texts]
    assert "best minimum loss 2.300, threshold 1.8" in [text.get_text() for text in one.texts]


def test_bars_are_labelled_with_all_that_varies(store: Store) -> None:
    space = {"learning_rate": [0.1], "exchange.average": ["gradients", "weights"]}
    sweep = run(store, {**space, "seed": [0, 1]}, lambda trial: curve(1.0, 1.0 + trial.position / 10))
    (group,) = trial_table(store, sweep).groups
    labels = ["128/0.1/gradients/0", "128/0.1/gradients/1", "128/0.1/weights/0", "128/0.1/weights/1"]
    assert bar_labels(sorted_bars(group)) == labels
    assert bar_labels([]) == []
