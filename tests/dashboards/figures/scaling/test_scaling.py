"""The table of scaling, and its figure."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.text import Text

from dashboards.figures.scaling.drawing import draw_scaling
from dashboards.figures.scaling.table import ScalingTable, scaling_csv, scaling_table
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.ranking.curve import LossPoint
from sweeper.store import Store, SweepRecord, TrialRecord
from tests.dashboards.sweeps import Result, diverging, run


def at_speed(rate: float, batch: int = 1) -> list[LossPoint]:
    """A thousand images in five points at a rate, images a second; the loss comes to 1.8 at the third."""
    points = [(200 * i, loss) for i, loss in enumerate((3.0, 2.5, 1.8, 1.2, 1.0), start=1)]
    return [LossPoint(images // batch, images, images / rate, loss) for images, loss in points]


def table(store: Store, sweep: SweepRecord) -> ScalingTable:
    return scaling_table(store, trial_table(store, sweep))


def test_speed_up_and_efficiency_are_against_the_smallest_count(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1], "workers": [2, 4, 8]}, lambda t: at_speed(100.0 * t.workers**0.5))
    found = table(store, sweep)
    (series,) = found.series
    assert (found.kind, found.matched) == ("weak", True)
    assert [row.workers for row in series.rows] == [2, 4, 8]
    assert [row.speedup for row in series.rows] == pytest.approx([1.0, 2**0.5, 2.0])
    assert [row.efficiency for row in series.rows] == pytest.approx([1.0, 2**-0.5, 0.5])
    assert [row.to_threshold for row in series.rows] == pytest.approx([600 / (100 * w**0.5) for w in (2, 4, 8)])


def test_like_is_compared_with_like(store: Store) -> None:
    def result(trial: TrialRecord) -> Result:
        size: int = trial.parameters["batch_size"]
        if (trial.workers, size) == (2, 16):
            return diverging()
        return at_speed(float(trial.workers * size))

    rows = table(store, run(store, {"batch_size": [16, 64], "workers": [1, 2]}, result)).series[0].rows
    assert [row.throughput for row in rows] == pytest.approx([64.0, 128.0])
    assert [row.trials for row in rows] == [1, 1]


def test_a_fixed_global_batch_is_strong_scaling(store: Store) -> None:
    space: dict[str, Any] = {"global_batch_size": [64], "workers": [1, 2]}
    found = table(store, run(store, space, lambda _: at_speed(100.0)))
    assert found.kind == "strong"
    texts = [text.get_text() for text in draw_scaling(found).findobj(Text) if isinstance(text, Text)]
    assert any("strong scaling (same global batch size" in text for text in texts)
    assert scaling_csv(found).splitlines()[0].startswith("workers,images_per_second,trials,speedup,efficiency")


def test_what_never_came_to_the_threshold_says_so(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: at_speed(100.0), threshold=0.5)
    found = table(store, sweep)
    assert found.series[0].rows[0].to_threshold is None
    texts = [text.get_text() for text in draw_scaling(found).findobj(Text) if isinstance(text, Text)]
    assert "no trial came to it" in texts


def test_without_any_throughput_it_is_a_clear_error(store: Store) -> None:
    with pytest.raises(FigureError, match="how many images"):
        table(store, run(store, {"learning_rate": [0.1]}, lambda _: None))
