"""The figures of the paper's sweep show the paper's winners (table 5.1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from dashboards.figures.drawing import style
from dashboards.figures.heatmap.drawing import draw_heatmap
from dashboards.figures.heatmap.table import grids
from dashboards.figures.histogram.drawing import draw_histogram
from dashboards.figures.tables import TrialTable, trial_table
from sweeper.store import Store
from tests.dashboards.sweeps import add_published

WINNERS = {1: (128, 0.5), 2: (128, 0.5), 4: (128, 0.4), 8: (64, 0.6)}


@pytest.fixture
def table(store: Store) -> TrialTable:
    """The published areas."""
    folder = os.environ.get("SWEEPER_DATA")
    path = Path(folder or "") / "shm-learn-dist" / "areas.csv"
    if not folder or not path.is_file():
        pytest.skip("set SWEEPER_DATA to the folder that holds shm-learn-dist/areas.csv")
    return trial_table(store, add_published(store, path))


def test_the_marked_cells_are_the_papers_winners(table: TrialTable) -> None:
    for grid in grids(table):
        marked = [
            (size, rate)
            for size, line in zip(grid.batch_sizes, grid.cells, strict=True)
            for rate, cell in zip(grid.learning_rates, line, strict=True)
            if cell.winner
        ]
        assert marked == [WINNERS[grid.group.key["workers"]]]


def test_the_heatmap_outlines_them(table: TrialTable) -> None:
    shown = grids(table)
    for axes, grid in zip(draw_heatmap(table).axes, shown, strict=False):
        size, rate = WINNERS[grid.group.key["workers"]]
        (outline,) = (
            patch
            for patch in axes.patches
            if isinstance(patch, Rectangle) and patch.get_edgecolor() == to_rgba(style.WINNER)
        )
        assert grid.learning_rates[round(outline.get_x() + 0.5)] == rate
        assert grid.batch_sizes[round(outline.get_y() + 0.5)] == size


def test_the_histogram_names_them_in_its_titles(table: TrialTable) -> None:
    assert [axes.get_title("left") for axes in draw_histogram(table).axes] == [
        "1 worker: batch 128, rate 0.5, area 524.4",
        "2 workers: batch 128, rate 0.5, area 345.4",
        "4 workers: batch 128, rate 0.4, area 273.1",
        "8 workers: batch 64, rate 0.6, area 288.0",
    ]
