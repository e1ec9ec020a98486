"""Two sweeps side by side."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dashboards.figures.comparison.drawing import draw_comparison
from dashboards.figures.comparison.table import comparison, comparison_csv
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.store import Store, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, run

BEFORE = '实验 #1/日本 "x" <b>'


def test_differences_are_of_the_same_settings(store: Store) -> None:
    def after(trial: TrialRecord) -> Result:
        return diverging() if trial.parameters["learning_rate"] == 0.5 else curve(1.0, 1.0)

    first = run(store, {"learning_rate": [0.1, 0.5], "workers": [1, 2]}, lambda _: curve(4.0, 1.0), name=BEFORE)
    second = run(store, {"learning_rate": [0.1, 0.5, 0.9], "workers": [1]}, after)
    table = comparison(trial_table(store, first), trial_table(store, second))
    found = {(cell.workers, cell.learning_rate): (cell.difference, cell.relative) for cell in table.cells}
    assert list(found) == [(1, 0.1), (1, 0.5), (1, 0.9), (2, 0.1), (2, 0.5)]
    assert list(found[1, 0.1]) == pytest.approx([-3.0, -0.75])
    assert all(value == (None, None) for place, value in found.items() if place != (1, 0.1))
    texts = [text.get_text() for text in draw_comparison(table).findobj(Text) if isinstance(text, Text)]
    assert "-75%" in texts
    assert any(BEFORE in text for text in texts)
    lines = comparison_csv(table).splitlines()
    assert len(lines) == 6
    assert lines[1].startswith("1,")
    assert ",qualified," in lines[1]


def test_batches_by_worker_and_of_all_together_meet(store: Store) -> None:
    first = run(store, {"batch_size": [32], "workers": [2]}, lambda _: curve(4.0, 1.0))
    second = run(store, {"global_batch_size": [64], "workers": [2]}, lambda _: curve(5.0, 1.0))
    table = comparison(trial_table(store, first), trial_table(store, second))
    assert table.batch_name == "global_batch_size"
    assert [cell.batch_size for cell in table.cells] == [64]
    assert [cell.relative for cell in table.cells] == pytest.approx([0.25])


def test_different_axes_are_refused(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(4.0, 1.0))
    with pytest.raises(FigureError, match="are over seconds"):
        comparison(trial_table(store, sweep), trial_table(store, sweep, "images"))
