"""The matplotlib drawing holds what the table of heatmap says."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from dashboards.figures.drawing import style
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.tables import trial_table
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, diverging, run


def outlined(axes: Axes) -> list[tuple[float, float]]:
    """Column and row of the cells with a winner's outline."""
    marked = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_edgecolor() == to_rgba(style.WINNER)]
    return [(patch.get_x() + 0.5, patch.get_y() + 0.5) for patch in marked]


def test_heatmap_has_a_panel_per_group_and_marks_its_winner(store: Store, named: SweepRecord) -> None:
    figure = draw_heatmap(trial_table(store, named))
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


def test_heatmap_with_nothing_qualified_has_no_colour_bar(store: Store) -> None:
    sweep = run(store, {"workers": [1, 2]}, lambda _: diverging())
    assert len(draw_heatmap(trial_table(store, sweep)).axes) == 2


def test_a_long_name_leaves_the_panels_their_room(store: Store) -> None:
    heights = []
    for name in ("short", "W" * 200):
        sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(1.0, 1.0), name=name)
        figure = draw_heatmap(trial_table(store, sweep))
        render(figure, "png")
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.2)
