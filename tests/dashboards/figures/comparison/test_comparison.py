"""Two sweeps side by side."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dashboards.figures.comparison.drawing import draw_comparison
from dashboards.figures.comparison.table import comparison, comparison_csv
from dashboards.figures.tables import trial_table
from sweeper.answers.differences import Difference, spec_differences
from sweeper.errors import FigureError
from sweeper.ranking.curve import LossPoint, summarize
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


@pytest.mark.parametrize(
    ("threshold", "images", "reason"),
    [
        (1.8, 64, "their trials saw 256 and 64 images"),
        (1.5, 256, "their thresholds are 1.8 and 1.5"),
    ],
)
def test_unlike_budgets_and_thresholds_are_compared_only_where_asked(
    store: Store, threshold: float, images: int, reason: str
) -> None:
    def points(images: int) -> list[LossPoint]:
        return [LossPoint(n, n * images // 4, float(n), 1.0) for n in range(1, 5)]

    first = run(store, {"learning_rate": [0.1]}, lambda _: points(256))
    second = run(store, {"learning_rate": [0.1]}, lambda _: points(images), threshold=threshold)
    tables = trial_table(store, first), trial_table(store, second)
    with pytest.raises(FigureError, match=reason):
        comparison(*tables)
    (cell,) = comparison(*tables, unlike=True).cells
    assert cell.relative == 0.0


def test_a_comparison_says_what_differs_in_the_specs(store: Store) -> None:
    first = run(store, {"learning_rate": [0.1], "workers": [1]}, lambda _: curve(1.0, 1.0))
    second = run(store, {"learning_rate": [0.1], "workers": [1, 2]}, lambda _: curve(1.0, 1.0), repeats=2)
    differences = spec_differences(store.sweeps.find(first.id), store.sweeps.find(second.id))
    assert [(one.field, one.first, one.second) for one in differences] == [
        ("space.workers", [1], [1, 2]),
        ("repeats", 1, 2),
    ]
    table = comparison(trial_table(store, first), trial_table(store, second), differences)
    texts = [text.get_text() for text in draw_comparison(table).findobj(Text) if isinstance(text, Text)]
    assert any("The specs differ in space.workers [1] / [1, 2], repeats 1 / 2." in " ".join(t.split()) for t in texts)
    assert spec_differences(store.sweeps.find(first.id), store.sweeps.find(first.id)) == []


def test_of_an_import_only_its_origin_differs(store: Store) -> None:
    points = [LossPoint(1, None, 1.0, 1.0)]
    imported = store.sweeps.find(store.sweeps.add_import("logs", [({"workers": 1}, "a", points, summarize(points))]))
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))
    assert spec_differences(store.sweeps.find(sweep.id), imported) == [Difference("origin", "run", "import")]
    assert spec_differences(imported, imported) == []
