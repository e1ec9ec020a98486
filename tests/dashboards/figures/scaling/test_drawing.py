"""The figure of scaling holds what its table says, on paper and on pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dashboards.figures import FIGURES, Choices, Source
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.scaling.drawing import draw_scaling
from dashboards.figures.scaling.table import scaling_table
from dashboards.figures.tables import trial_table
from sweeper.store import Store
from tests.dashboards.figures.reading import texts
from tests.dashboards.figures.scaling.measuring import trained
from tests.dashboards.figures.scaling.test_kinds import BOTH, WEAK


def source(store: Store, **choices: Any) -> Source:
    """Both kinds of scaling with a price, an accuracy, and counts that have not run."""
    sweep = trained(store, BOTH, accuracies=lambda _: (0.5,))
    return Source(store, trial_table(store, sweep, rate=1.0), choices=Choices(**choices))


def legend(figure: Figure) -> list[str]:
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_all_panels_are_drawn_with_their_series(store: Store) -> None:
    of = source(store, accuracy=0.5, forecast=(8,))
    figure = FIGURES["scaling"].draw(FIGURES["scaling"].table(of))
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "throughput, images/s",
        "parallel efficiency",
        "training time, s",
        "training cost, $",
        "s to threshold 1.8",
        "s to accuracy 0.5",
    ]
    assert legend(figure) == ["weak", "strong", "perfect", "predicted"]
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [np.asarray(line.get_xdata()).tolist() for line in hollow] == [[8], [8]]
    assert any("Hollow: predicted, not run." in text for text in texts(figure))
    words = " ".join(" ".join(texts(figure)).split())
    assert "weak scaling (same batch size at every count) and strong scaling (same global batch size" in words


def test_a_page_shows_the_same_panels(store: Store) -> None:
    of = source(store, accuracy=0.5, forecast=(8,))
    drawn = FIGURES["scaling"].plotly(of)
    figure = FIGURES["scaling"].draw(FIGURES["scaling"].table(of))
    shown = [panel["layout"]["yaxis"]["title"]["text"] for panel in drawn["panels"]]
    assert shown == [axes.get_ylabel() for axes in figure.axes]
    names = [line.get("name") for line in drawn["panels"][0]["data"] if line.get("showlegend", True)]
    assert names == ["weak", "weak, predicted", "strong", "strong, predicted"]
    (point,) = [line for line in drawn["panels"][2]["data"] if line.get("name") == "strong, predicted"]
    assert (point["x"], point["marker"]["symbol"]) == ([8], "circle-open")


@pytest.mark.parametrize("series", [1, 2, 4])
def test_any_number_of_series_fits_the_picture(store: Store, series: int) -> None:
    names = [f"a rival with a name of its own, number {place}" for place in range(series)]
    first, *rest = (
        trial_table(store, trained(store, WEAK, name=name, pace=1.0 + place, trial={"momentum": place / 10}))
        for place, name in enumerate(names)
    )
    figure = draw_scaling(scaling_table(store, first, Choices(forecast=(8,)), rest))
    assert len(legend(figure)) == series + 2
    assert render(figure, "png")
    assert all(axes.get_ylim()[1] > 1.04 * axes.dataLim.ymax for axes in figure.axes)  # no marker is cut
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert all(box.width > 150 and box.height > 150 for box in boxes)
