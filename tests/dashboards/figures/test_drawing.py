"""The figures hold what the tables say: panels, titles, marks, labels."""

from __future__ import annotations

import math
import warnings
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from dashboards.figures.accuracy.drawing import draw_accuracy
from dashboards.figures.accuracy.table import accuracy_table
from dashboards.figures.curves.drawing import draw_curves, smooth, window_of
from dashboards.figures.curves.table import curve_table, logarithmic
from dashboards.figures.drawing import style
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.histogram.drawing import draw_histogram
from dashboards.figures.histogram.table import bar_labels, sorted_bars
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, evaluated, run

SPACE: dict[str, Any] = {"batch_size": [16, 128], "learning_rate": [0.1, 0.5], "workers": [10, 2, 1]}
AWKWARD = '实验 #1/日本 "x" <b> costs $5 or $6'


def result(trial: TrialRecord) -> Result:
    """The smallest area at 128 / 0.5; ten workers stay above the threshold, one diverges."""
    size, rate = trial.parameters["batch_size"], trial.parameters["learning_rate"]
    if trial.workers == 1:
        return diverging()
    return curve(1000 / size / rate, 1.5 - rate if trial.workers == 2 else 2.5)


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    """Three groups, of which one has a winner."""
    return run(store, SPACE, result, name=AWKWARD)


def texts(figure: Figure) -> list[str]:
    """All texts of a figure."""
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]


def outlined(axes: Axes) -> list[tuple[float, float]]:
    """Column and row of the cells with a winner's outline."""
    marked = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_edgecolor() == to_rgba(style.WINNER)]
    return [(patch.get_x() + 0.5, patch.get_y() + 0.5) for patch in marked]


def test_heatmap_has_a_panel_per_group_and_marks_its_winner(store: Store, sweep: SweepRecord) -> None:
    figure = draw_heatmap(trial_table(store, sweep))
    one, two, ten = figure.axes[:3]
    assert one.get_title("left").startswith("1 worker: none of 4 qualified; best minimum")
    assert two.get_title("left") == "2 workers: batch 128, rate 0.5, area 15.62"
    assert ten.get_title("left").startswith("10 workers: none of 4 qualified")
    assert [outlined(axes) for axes in (one, two, ten)] == [[], [(1.0, 1.0)], []]
    assert [label.get_text() for label in two.get_xticklabels()] == ["0.1", "0.5"]
    assert [label.get_text() for label in two.get_yticklabels()] == ["16", "128"]
    assert figure.axes[3].get_ylabel() == "area, loss × s"


def test_heatmap_names_all_looks_in_its_legend(store: Store) -> None:
    states = {0.1: TrialState.FAILED, 0.2: None, 0.3: TrialState.RUNNING}
    sweep = run(store, {"learning_rate": list(states)}, lambda trial: states[trial.parameters["learning_rate"]])
    figure = draw_heatmap(trial_table(store, sweep))
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [
        "qualified",
        "above the threshold",
        "diverged",
        "no result: F failed, R running, W waiting",
        "smallest area of the qualified",
    ]
    assert {"F", "W", "R"} <= set(texts(figure))
    hatches = [patch.get_hatch() for patch in figure.legends[0].get_patches()]
    assert len(set(hatches)) == 4


def test_heatmap_says_how_many_trials_share_a_cell(store: Store) -> None:
    space = {"learning_rate": [0.1], "momentum": [0.0, 0.5, 0.9]}
    found = texts(draw_heatmap(trial_table(store, run(store, space, lambda _: curve(3.0, 1.5)))))
    assert "×3" in found
    assert "×n: best of n trials" in found


def test_figures_say_over_how_many_seeds_their_areas_are_means(store: Store) -> None:
    table = trial_table(store, run(store, {"learning_rate": [0.1]}, lambda _: curve(3.0, 1.5), repeats=3))
    for draw in (draw_heatmap, draw_histogram):
        found = texts(draw(table))
        assert any(text.endswith("threshold 1.8; mean of 3 seeds") for text in found)
        assert "×3" not in found
    found = texts(draw_curves(curve_table(store, table)))
    assert any("of the best trial per group, its first seed; areas are means of 3 seeds" in text for text in found)


def test_heatmap_with_nothing_qualified_has_no_colour_bar(store: Store) -> None:
    sweep = run(store, {"workers": [1, 2]}, lambda _: diverging())
    assert len(draw_heatmap(trial_table(store, sweep)).axes) == 2


def test_histogram_sorts_by_minimum_loss_and_colours_the_winner(store: Store, sweep: SweepRecord) -> None:
    table = trial_table(store, sweep)
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


def test_curves_show_winner_threshold_and_who_has_none(store: Store, sweep: SweepRecord) -> None:
    figure = draw_curves(curve_table(store, trial_table(store, sweep)))
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


def test_accuracies_show_the_best_trials_and_who_was_not_evaluated(store: Store, sweep: SweepRecord) -> None:
    for trial in store.trials(sweep.id):
        if trial.workers != 1:
            evaluated(store, trial.id, 0.25, 0.5, 0.375 if trial.workers == 2 else 0.125)
    figure = draw_accuracy(accuracy_table(store, trial_table(store, sweep)))
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


def test_a_group_looks_the_same_among_accuracies_as_among_curves(store: Store, sweep: SweepRecord) -> None:
    for trial in store.trials(sweep.id):
        evaluated(store, trial.id, 0.25, 0.5)
    table = trial_table(store, sweep)
    accuracies = draw_accuracy(accuracy_table(store, table)).axes[0].lines
    curves = draw_curves(curve_table(store, table)).axes[0].lines
    for one, other in zip(accuracies, curves[:3], strict=True):
        assert one.get_color() == other.get_color()
        assert one.get_marker() == other.get_marker()
        assert str(one.get_label()).startswith(str(other.get_label()))


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


@pytest.mark.parametrize("draw", [draw_heatmap, draw_histogram])
def test_too_many_groups_are_an_error(store: Store, draw: Any) -> None:
    sweep = run(store, {"workers": list(range(1, 66))}, lambda _: None)
    with pytest.raises(FigureError, match="has 65 groups, a figure shows at most 64"):
        draw(trial_table(store, sweep))


@pytest.mark.parametrize("kind", ["heatmap", "histogram", "curves", "accuracy"])
def test_any_name_is_drawn_as_it_is_and_without_a_warning(store: Store, sweep: SweepRecord, kind: str) -> None:
    table = trial_table(store, sweep)
    evaluated(store, store.trials(sweep.id)[0].id, 0.5)
    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = {
            "heatmap": lambda: draw_heatmap(table),
            "histogram": lambda: draw_histogram(table),
            "curves": lambda: draw_curves(curve_table(store, table)),
            "accuracy": lambda: draw_accuracy(accuracy_table(store, table)),
        }[kind]()
        render(figure, "png")
    assert figure.get_suptitle().splitlines()[0] == AWKWARD
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if isinstance(text, Text))
    assert dict(matplotlib.rcParams) == before


def test_a_long_name_leaves_the_panels_their_room(store: Store) -> None:
    heights = []
    for name in ("short", "W" * 200):
        sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(1.0, 1.0), name=name)
        figure = draw_heatmap(trial_table(store, sweep))
        render(figure, "png")
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.2)
