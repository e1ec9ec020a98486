"""What holds for the drawings of several figures."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib
import pytest
from matplotlib.text import Text

from dashboards.figures import FIGURES, Source
from dashboards.figures.curves.drawing import draw_curves
from dashboards.figures.curves.table import curve_table
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.histogram.drawing import draw_histogram
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.conftest import AWKWARD
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, evaluated, run


def test_figures_say_over_how_many_seeds_their_areas_are_means(store: Store) -> None:
    table = trial_table(store, run(store, {"learning_rate": [0.1]}, lambda _: curve(3.0, 1.5), repeats=3))
    for draw in (draw_heatmap, draw_histogram):
        found = texts(draw(table))
        assert any(text.endswith("threshold 1.8; mean of 3 seeds") for text in found)
        assert "×3" not in found
    found = texts(draw_curves(curve_table(store, table)))
    assert any("of the best trial per group, its first seed; areas are means of 3 seeds" in text for text in found)


@pytest.mark.parametrize("draw", [draw_heatmap, draw_histogram])
def test_too_many_groups_are_an_error(store: Store, draw: Any) -> None:
    sweep = run(store, {"workers": list(range(1, 66))}, lambda _: None)
    with pytest.raises(FigureError, match="has 65 groups, a figure shows at most 64"):
        draw(trial_table(store, sweep))


@pytest.mark.parametrize("kind", ["heatmap", "histogram", "curves", "accuracy"])
def test_any_name_is_drawn_as_it_is_and_without_a_warning(store: Store, named: SweepRecord, kind: str) -> None:
    table = trial_table(store, named)
    evaluated(store, store.trials.of(named.id)[0].id, 0.5)
    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = FIGURES[kind].draw(FIGURES[kind].table(Source(store, table)))
        render(figure, "png")
    assert figure.get_suptitle().splitlines()[0] == AWKWARD
    assert not any(text.get_parse_math() for text in figure.findobj(Text) if isinstance(text, Text))
    assert dict(matplotlib.rcParams) == before
