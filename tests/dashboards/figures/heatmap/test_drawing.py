"""The matplotlib drawing holds what the table of heatmap says."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from dashboards.figures import FIGURES
from dashboards.figures.drawing import style
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.heatmap.plotly import heatmap_plot
from dashboards.figures.tables import Outcome, TrialTable, trial_table
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.candidates.close import close, source_of
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, diverging, end, run


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


def never_learnt(store: Store, threshold: float | None) -> TrialTable:
    """Two settings: one learns and comes to 1.5, one stays at the loss of guessing among ten classes."""
    trial = {"model": "mlp", "data": "digits", "images": 6400}
    space = {"batch_size": [16], "learning_rate": [0.1, 0.2]}
    spec = parse_spec({"name": "s", "trial": trial, "space": space, "objective": {"threshold": threshold}})
    sweep = store.sweeps.add(spec, plan(spec))
    for one, minimum in zip(store.trials.of(sweep), (1.5, 2.3), strict=True):
        end(store, one, curve(3.0, minimum))
    return trial_table(store, store.sweeps.find(sweep))


def test_cells_at_chance_have_a_look_of_their_own(store: Store) -> None:
    table = never_learnt(store, 1.8)
    figure = draw_heatmap(table)
    assert [row.outcome for row in table.rows] == [Outcome.QUALIFIED, Outcome.AT_CHANCE]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()][:4] == [
        "qualified",
        "above the threshold",
        "at chance, never learnt",
        "diverged",
    ]
    looks = {(patch.get_hatch(), patch.get_facecolor()) for patch in legend.get_patches()}
    assert len(looks) == len(legend.get_patches())
    (panel,) = heatmap_plot(table, ())["panels"]
    grey = panel["data"][1]
    assert (grey["text"][0][1], grey["z"][0][1]) == ("○", 0.5)
    assert "at chance" in grey["hovertext"][0][1]


def test_cells_at_chance_are_marked_even_where_they_qualify(store: Store) -> None:
    """Without a threshold every complete curve does."""
    table = never_learnt(store, None)
    assert [row.outcome for row in table.rows] == [Outcome.QUALIFIED] * 2
    assert {"c", "c: at chance, never learnt"} <= set(texts(draw_heatmap(table)))
    (panel,) = heatmap_plot(table, ())["panels"]
    assert [text.endswith("○") for text in panel["data"][0]["text"][0]] == [False, True]


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


def test_settings_that_may_be_the_best_have_a_dashed_outline(store: Store) -> None:
    source = source_of(store, close(store))
    figure = FIGURES["heatmap"]
    table = figure.table(source)
    told = [one["recommended"] for one in source.answers(True) if one["recommended"]]
    expected = [{tuple(each["parameters"].values())[1:3] for each in one["not_ruled_out"]} for one in told]
    assert all(len(one) > 1 for one in expected)
    sizes, rates = [32, 64, 128], [0.05, 0.1, 0.2, 0.4]
    drawn = figure.draw(table)
    for axes, cells in zip(drawn.axes[:2], expected, strict=True):
        dashed = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_linestyle() not in ("solid", "-")]
        places = {(round(patch.get_x() + 0.5), round(patch.get_y() + 0.5)) for patch in dashed}
        assert {(sizes[row], rates[column]) for column, row in places} == cells
    assert "may be the best: not ruled out at 95 %" in texts(drawn)
    plot = figure.plotly(source)
    assert plot["note"].startswith("Dashed: may be the best")
    dots = [shape for shape in plot["panels"][0]["layout"]["shapes"] if shape["line"].get("dash")]
    assert len(dots) == len(expected[0])
    assert "not ruled out as the best" in str(plot["panels"][0]["data"][0]["hovertext"])
    lines = list(csv.DictReader(io.StringIO(figure.csv(table))))
    assert sum(line["not_ruled_out"] == "true" for line in lines) == sum(map(len, expected))


def test_without_what_is_recommended_no_cell_is_dashed(store: Store) -> None:
    source = replace(source_of(store, close(store)), answers=lambda _: [{"group": {}}])
    plot = FIGURES["heatmap"].plotly(source)
    assert not [shape for panel in plot["panels"] for shape in panel["layout"]["shapes"] if shape["line"].get("dash")]
    assert "Dashed" not in plot["note"]
    assert not any(
        "may be the best" in text for text in texts(FIGURES["heatmap"].draw(FIGURES["heatmap"].table(source)))
    )
