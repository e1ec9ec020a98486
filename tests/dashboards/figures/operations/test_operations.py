"""The table of operations, and its figure."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dashboards.figures.operations.drawing import draw_operations
from dashboards.figures.operations.plotly import operations_plot
from dashboards.figures.operations.table import operation_table, operations_csv
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store
from tests.dashboards.sweeps import curve, run, submit

STEPS = 5


def timed(store: Store) -> str:
    """Two methods of exchange on 1, 2 and 4 workers; gathering grows with the workers, and a single one does not."""
    space = {"exchange.method": ["ring", "parameter-server"], "workers": [4, 1, 2]}
    sweep = submit(store, space, group_by=["workers", "exchange.method"])
    for trial in store.trials.of(sweep):
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        points = curve(2.0, 1.5, STEPS)
        store.attempts.add_points(trial.id, attempt, points)
        phases = {"evaluation": 9.0, "gather": 0.5 * trial.workers, "compute": 2.5}
        if trial.workers == 1:
            del phases["gather"]
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), phases=phases)
    return sweep


def test_a_series_has_the_seconds_of_a_step_by_worker_count(store: Store) -> None:
    table = operation_table(store, trial_table(store, store.sweeps.find(timed(store))))
    assert table.phases == ("compute", "gather")
    assert [dict(series.key) for series in table.series] == [
        {"exchange.method": "parameter-server"},
        {"exchange.method": "ring"},
    ]
    for series in table.series:
        assert [(row.workers, dict(row.per_step)) for row in series.rows] == [
            (1, {"compute": 0.5}),
            (2, {"compute": 0.5, "gather": 0.2}),
            (4, {"compute": 0.5, "gather": 0.4}),
        ]
    lines = operations_csv(table).splitlines()
    assert lines[0] == "exchange.method,workers,trial,compute_seconds_per_step,gather_seconds_per_step"
    assert lines[1].startswith("parameter-server,1,")
    assert lines[1].endswith(",0.5,")
    assert lines[-1].endswith(",0.5,0.4")


def test_the_figure_has_a_panel_for_each_operation(store: Store) -> None:
    table = operation_table(store, trial_table(store, store.sweeps.find(timed(store))))
    figure = draw_operations(table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["compute", "gather"]
    lines = figure.axes[1].get_lines()
    assert [list(line.get_ydata()) for line in lines] == [[200.0, 400.0]] * 2  # type: ignore[arg-type]
    texts = {text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)}
    assert {"ms per step", "workers"} <= texts
    panels = operations_plot(table)["panels"]
    assert [panel["title"] for panel in panels] == ["compute", "gather"]
    assert panels[1]["data"][0]["y"] == [None, 200.0, 400.0]


def test_no_phases_at_all_are_a_clear_error(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))
    with pytest.raises(FigureError, match="have recorded no phases"):
        operation_table(store, trial_table(store, sweep))
