"""The table of operations, and its figure."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dashboards.figures.operations.drawing import draw_operations
from dashboards.figures.operations.plotly import operations_plot
from dashboards.figures.operations.table import (
    OperationRow,
    OperationTable,
    operation_table,
    operations_csv,
)
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store, TrialRecord
from tests.dashboards.sweeps import curve, run, submit

STEPS = 5


def finish(
    store: Store, trial: TrialRecord, phases: dict[str, float], area: float = 2.0, *, shared: bool = False
) -> None:
    """Seconds of a step in each phase; there are `STEPS` steps."""
    attempt = store.attempts.claim(trial.id)
    assert attempt is not None
    points = curve(area, 1.5, STEPS)
    store.attempts.add_points(trial.id, attempt, points)
    whole = {name: STEPS * seconds for name, seconds in phases.items()}
    store.attempts.finish(
        trial.id, attempt, TrialState.COMPLETED, summarize(points), phases=whole, oversubscribed=shared
    )


def timed(store: Store) -> str:
    """Two methods of exchange on 1, 2 and 4 workers; gathering grows with the workers, and a single one does not."""
    space = {"exchange.method": ["ring", "parameter-server"], "workers": [4, 1, 2]}
    sweep = submit(store, space, group_by=["workers", "exchange.method"])
    for trial in store.trials.of(sweep):
        gather = {} if trial.workers == 1 else {"gather": 0.1 * trial.workers}
        finish(store, trial, {"evaluation": 1.8, **gather, "compute": 0.5})
    return sweep


def table_of(store: Store, sweep: str) -> OperationTable:
    return operation_table(store, trial_table(store, store.sweeps.find(sweep)))


def test_a_series_has_the_seconds_of_a_step_by_worker_count(store: Store) -> None:
    table = table_of(store, timed(store))
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
    assert lines[0] == "exchange.method,workers,trials,compute_seconds_per_step,gather_seconds_per_step"
    assert lines[1] == "parameter-server,1,1,0.5,"
    assert lines[-1] == "ring,4,1,0.5,0.4"


def test_the_figure_has_a_panel_for_each_operation(store: Store) -> None:
    table = table_of(store, timed(store))
    figure = draw_operations(table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["compute", "gather"]
    lines = figure.axes[1].get_lines()
    assert [list(line.get_ydata()) for line in lines] == [[200.0, 400.0]] * 2  # type: ignore[arg-type]
    texts = {text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)}
    assert {"ms per step", "workers"} <= texts
    panels = operations_plot(table)["panels"]
    assert [panel["title"] for panel in panels] == ["compute", "gather"]
    assert panels[1]["data"][0]["y"] == [None, 200.0, 400.0]


@pytest.mark.parametrize("batch_name", ["batch_size", "global_batch_size"])
def test_steps_are_compared_at_one_batch_size_whichever_wins(store: Store, batch_name: str) -> None:
    """The winner has batch 64 on one worker and batch 128 on two; rates and budgets change no step."""
    space = {batch_name: [128, 64], "learning_rate": [0.1, 0.2, 0.3], "images": [1000, 2000], "workers": [2, 1]}
    sweep = submit(store, space)
    for trial in store.trials.of(sweep):
        batch, rate = trial.parameters[batch_name], trial.parameters["learning_rate"]
        wins = batch == 64 * trial.workers
        finish(store, trial, {"compute": batch / 1000 + 0.001 * (rate == 0.3)}, area=1.0 if wins else 2.0)
    table = table_of(store, sweep)
    assert [group.winner and group.winner.batch_size for group in table.trials.groups] == [64, 128]
    assert [(dict(series.key), series.rows) for series in table.series] == [
        ({batch_name: batch}, tuple(OperationRow(workers, 6, {"compute": batch / 1000}) for workers in (1, 2)))
        for batch in (64, 128)
    ]
    assert table.notes == []


def test_each_seed_counts_and_trials_that_shared_cores_only_where_there_are_no_others(store: Store) -> None:
    sweep = submit(store, {"workers": [1, 2]}, repeats=4)
    for position, trial in enumerate(store.trials.of(sweep)):
        seconds = 1.0 + position % 4
        finish(store, trial, {"compute": seconds}, shared=trial.workers == 2 or seconds == 4)
    table = table_of(store, sweep)
    (series,) = table.series
    assert series.rows == (OperationRow(1, 3, {"compute": 2.0}), OperationRow(2, 4, {"compute": 2.5}, shared=True))
    assert table.notes == ["ranks shared cores or GPUs at 2 workers"]
    assert "Ranks shared cores or GPUs at 2 workers." in operations_plot(table)["note"]


def test_of_many_series_those_of_winners_and_of_most_worker_counts_are_shown(store: Store) -> None:
    sizes = [2**power for power in range(12)]
    sweep = submit(store, {"batch_size": sizes, "workers": [1, 2]})
    for trial in store.trials.of(sweep):
        size = trial.parameters["batch_size"]
        if trial.workers == 1 or size > 32:
            finish(store, trial, {"compute": 0.1, **({"gather": 0.1} if size == 2 else {})}, area=1.0 + (size != 1))
    table = table_of(store, sweep)
    assert [series.key["batch_size"] for series in table.series] == sizes
    assert [series.key["batch_size"] for series in table.shown] == [1, 64, 128, 256, 512, 1024, 2048]
    assert len(operations_csv(table).splitlines()) == 1 + 12 + 6
    figure = draw_operations(table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["compute"], "only of what is shown"
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    assert any("7 of 12 series: those of winners first" in text for text in texts)
    assert len(figure.axes[0].get_lines()) == len(operations_plot(table)["panels"][0]["data"]) == 7


def test_no_phases_at_all_are_a_clear_error(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))
    with pytest.raises(FigureError, match="have recorded no phases"):
        operation_table(store, trial_table(store, sweep))
