"""The table of accuracies."""

from __future__ import annotations

import pytest

from dashboards.figures.accuracy.table import accuracies_csv, accuracy_table, chosen_accuracies
from dashboards.figures.curves.table import curve_table
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import Store, SweepRecord
from sweeper.store.attempts import Attempts
from tests.dashboards.sweeps import curve, evaluated, run


def test_accuracies_are_those_of_the_trials_whose_curves_are_drawn(store: Store, outcomes: SweepRecord) -> None:
    table = trial_table(store, outcomes)
    for trial in store.trials.of(outcomes.id):
        if trial.attempt:
            evaluated(store, trial.id, 0.1, trial.position / 100)
    rows = accuracy_table(store, table).rows
    curves = curve_table(store, table).rows
    assert [(row.group, row.trial) for row in rows] == [(row.group, row.trial) for row in curves]
    assert [row.accuracies for row in rows] == [
        () if row.trial is None else (0.1, row.trial.position / 100) for row in rows
    ]
    assert [row.positions for row in rows] == [(), (0.5, 1.0), (0.5, 1.0)]


@pytest.mark.parametrize(("over", "expected"), [("steps", (2.0, 4.0)), ("images", (128.0, 256.0))])
def test_accuracies_are_over_the_tables_axis(store: Store, over: str, expected: tuple[float, ...]) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0), over=over)
    evaluated(store, store.trials.of(sweep.id)[0].id, 0.5, 0.6)
    (row,) = accuracy_table(store, trial_table(store, sweep)).rows
    assert row.positions == expected


def test_accuracies_read_no_points(store: Store, outcomes: SweepRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[LossPoint]:
        raise AssertionError("one query has all evaluations, and none reads points")

    table = trial_table(store, outcomes)
    winner = table.groups[1].winner
    assert winner is not None
    evaluated(store, winner.trial, 0.5)
    for name in ("points", "evaluations"):
        monkeypatch.setattr(Attempts, name, refuse)
    assert [row.accuracies for row in accuracy_table(store, table).rows] == [(), (0.5,), ()]


def test_a_sweep_without_evaluations_is_an_error_that_says_how_to_get_some(store: Store, outcomes: SweepRecord) -> None:
    with pytest.raises(FigureError, match="sweep 'sweep': none of its trials was evaluated") as caught:
        accuracy_table(store, trial_table(store, outcomes))
    assert caught.value.remedy == "set trial.evaluate_every in its spec, and run it again"


def test_evaluations_of_trials_that_still_run_are_drawn_once_one_has_ended(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: TrialState.RUNNING)
    (trial,) = store.trials.of(sweep.id)
    evaluated(store, trial.id, 0.5)
    with pytest.raises(FigureError, match="wait until a trial has ended"):
        accuracy_table(store, trial_table(store, sweep))
    store.attempts.finish(trial.id, 1, TrialState.COMPLETED, summarize(curve(1.0, 1.0)))
    assert accuracy_table(store, trial_table(store, sweep)).rows[0].accuracies == (0.5,)


def test_an_error_is_what_the_accuracy_leaves(store: Store, outcomes: SweepRecord) -> None:
    table = trial_table(store, outcomes)
    winner = table.groups[1].winner
    assert winner is not None
    evaluated(store, winner.trial, 0.25, 0.75, 1.0)
    for found in (
        accuracy_table(store, table, error=True),
        chosen_accuracies(store, table, [winner.trial], error=True),
    ):
        (row,) = [row for row in found.rows if row.accuracies]
        assert found.values(row) == (0.75, 0.25, 0.0)
        header, *lines = accuracies_csv(found).splitlines()
        assert header == "workers,trial,seconds,error"
        assert [line.rpartition(",")[2] for line in lines] == ["0.75", "0.25", "0.0"]
