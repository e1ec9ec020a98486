"""The matplotlib drawing holds what the table of curves says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dashboards.figures.curves.drawing import draw_curves, smooth, window_of
from dashboards.figures.curves.table import curve_table, logarithmic
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.tables import trial_table
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, diverging, run


def test_curves_show_winner_threshold_and_who_has_none(store: Store, named: SweepRecord) -> None:
    figure = draw_curves(curve_table(store, trial_table(store, named)))
    (axes,) = figure.axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == [
        "1 worker: none of 4 qualified, nearest is batch 16, rate 0.1",
        "2 workers: batch 128, rate 0.5, area 15.62",
        "10 workers: none of 4 qualified, nearest is batch 16, rate 0.1",
        "threshold 1.8",
    ]
    assert [line.get_linestyle() for line in lines.values()] == [":", "-", ":", "--"]
    assert axes.get_xlabel() == "training time, s"


@pytest.mark.parametrize("threshold", [1e9, math.inf, math.nan])
def test_a_threshold_far_above_does_not_flatten_the_curves(store: Store, threshold: float) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))
    figure = draw_curves(curve_table(store, trial_table(store, sweep, threshold=threshold)))
    render(figure, "png")
    assert figure.axes[0].get_ylim()[1] < 3
    assert any("threshold" in text for text in texts(figure))


def test_losses_that_are_not_finite_are_gaps(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: diverging())
    (axes,) = draw_curves(curve_table(store, trial_table(store, sweep))).axes
    assert np.isnan(np.asarray(axes.lines[0].get_ydata(), dtype=float)).tolist() == [False, True, True]


def test_long_curves_get_a_running_mean_on_top(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(5.0, 1.5, points=300))
    figure = draw_curves(curve_table(store, trial_table(store, sweep)))
    assert len(figure.axes[0].lines) == 3
    assert any("bold: running mean" in text for text in texts(figure))


def test_running_means_keep_gaps_and_constants() -> None:
    smoothed = smooth(np.array([2.0, 2.0, np.nan, 2.0, 2.0]), 3)
    assert smoothed[[0, 1, 3, 4]].tolist() == [2.0, 2.0, 2.0, 2.0]
    assert np.isnan(smoothed[2])
    assert smooth(np.array([1.0, 2.0, 6.0]), 3).tolist() == [1.5, 3.0, 4.0]
    assert window_of(99) == 1
    assert all(window_of(points) % 2 == 1 for points in range(100, 5000))


def test_the_loss_axis_is_logarithmic_only_for_what_would_flatten_the_rest() -> None:
    assert logarithmic([1e6, 2.0, 2.0, 1.0])
    assert not logarithmic([2.3, 2.0, 1.0])
    assert not logarithmic([1e6, 1.0, 1.0, -0.5])
    assert not logarithmic([])
