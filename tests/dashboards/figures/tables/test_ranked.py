"""The table of trials says what the store holds, and who won."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dashboards.figures.tables import Outcome, TrialTable, check_areas, trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import GangRecord, Store, SweepRecord
from sweeper.store.attempts import Attempts
from tests.dashboards.sweeps import curve, run


def settings(table: TrialTable) -> list[tuple[Any, Any] | None]:
    """Batch size and rate of each group's winner."""
    return [(group.winner.batch_size, group.winner.learning_rate) if group.winner else None for group in table.groups]


def test_groups_are_in_numeric_order_with_their_winners(store: Store, outcomes: SweepRecord) -> None:
    table = trial_table(store, outcomes)
    assert [group.key for group in table.groups] == [{"workers": 1}, {"workers": 2}, {"workers": 10}]
    assert settings(table) == [None, (16, 0.5), None]
    assert [group.best_minimum_loss for group in table.groups] == [None, pytest.approx(1.4), pytest.approx(2.0)]
    assert (table.sweep, table.name, table.over, table.threshold) == (outcomes.id, "sweep", "seconds", 1.8)
    assert table.batch_name == "batch_size"


def test_a_row_holds_what_the_trial_came_to(store: Store, outcomes: SweepRecord) -> None:
    rows = trial_table(store, outcomes).groups[1].rows
    assert [row.outcome for row in rows] == [
        Outcome.QUALIFIED,
        Outcome.QUALIFIED,
        Outcome.ABOVE_THRESHOLD,
        Outcome.DIVERGED,
    ]
    assert [row.area for row in rows] == [pytest.approx(12.5), pytest.approx(8.25), pytest.approx(5.0), None]
    assert [row.winner for row in rows] == [False, True, False, False]
    assert [row.qualified for row in rows] == [True, True, False, False]
    best = rows[1]
    assert (best.workers, best.batch_size, best.learning_rate, best.state) == (2, 16, 0.5, TrialState.COMPLETED)
    assert best.minimum_loss == pytest.approx(1.8)
    assert best.seconds == pytest.approx(8.25 / 2.3)
    assert best.others == {}


def test_rows_lists_every_trial_once(store: Store, outcomes: SweepRecord) -> None:
    rows = trial_table(store, outcomes).rows
    assert sorted(row.trial for row in rows) == sorted(trial.id for trial in store.trials.of(outcomes.id))


def test_threshold_and_axis_may_be_others_than_the_sweeps(store: Store, outcomes: SweepRecord) -> None:
    table = trial_table(store, outcomes, "images", 1.5)
    assert settings(table) == [None, (16, 0.1), None]
    assert (table.over, table.threshold) == ("images", 1.5)
    winner = table.groups[1].winner
    assert winner is not None
    assert winner.area == pytest.approx(64 * (2.4 + 4 * 1.9))


def test_a_threshold_of_zero_is_a_threshold(store: Store, outcomes: SweepRecord) -> None:
    assert trial_table(store, outcomes, threshold=0.0).threshold == 0.0


@pytest.mark.parametrize(
    "state",
    [TrialState.RUNNING, TrialState.FAILED, TrialState.PRUNED, TrialState.CANCELLED],
)
def test_what_has_no_result_is_not_run(store: Store, state: TrialState) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: state)
    (row,) = trial_table(store, sweep).rows
    assert (row.outcome, row.state, row.area) == (Outcome.NO_RESULT, state, None)


def test_without_a_threshold_every_complete_curve_qualifies(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(3.0, 9.0), threshold=None)
    assert all(row.qualified for row in trial_table(store, sweep).rows)


def test_further_fields_that_vary_are_others(store: Store) -> None:
    space = {"learning_rate": [0.1], "momentum": [0.9], "exchange.average": ["gradients", "weights"]}
    sweep = run(store, {**space, "seed": [0, 1]}, lambda _: curve(1.0, 1.0))
    rows = trial_table(store, sweep).rows
    assert [dict(row.others) for row in rows] == [
        {"exchange.average": "gradients", "seed": 0},
        {"exchange.average": "gradients", "seed": 1},
        {"exchange.average": "weights", "seed": 0},
        {"exchange.average": "weights", "seed": 1},
    ]
    repeated = trial_table(
        store, run(store, space, lambda trial: curve(1.0 + trial.parameters["seed"], 1.0), repeats=2)
    )
    assert [(dict(row.others), row.repeats) for row in repeated.rows] == [
        ({"exchange.average": average}, 2) for average in ("gradients", "weights")
    ]
    assert [row.area for row in repeated.rows] == pytest.approx([1.5, 1.5])


def test_what_tells_groups_apart_is_not_among_others(store: Store) -> None:
    space = {"learning_rate": [0.1], "workers": [1, 2], "exchange.average": ["weights", "gradients"]}
    sweep = run(store, space, lambda _: curve(1.0, 1.0), group_by=["exchange.average"])
    table = trial_table(store, sweep)
    assert [group.key for group in table.groups] == [{"exchange.average": "gradients"}, {"exchange.average": "weights"}]
    assert [dict(row.others) for row in table.groups[0].rows] == [{"workers": 1}, {"workers": 2}]


def test_a_global_batch_size_is_named_so(store: Store) -> None:
    sweep = run(store, {"global_batch_size": [64, 128], "workers": [1, 2]}, lambda _: curve(1.0, 1.0))
    table = trial_table(store, sweep)
    assert table.batch_name == "global_batch_size"
    assert [row.batch_size for row in table.rows] == [64, 128, 64, 128]


def imported(store: Store, *parameters: dict[str, Any], images: bool = True) -> SweepRecord:
    """An imported sweep with one curve for each set of parameters."""
    points = [LossPoint(i, 64 * i if images else None, float(i), 2.0 - i / 10) for i in range(1, 5)]
    return store.sweeps.find(
        store.sweeps.add_import("logs", [(given, "a.log", points, summarize(points)) for given in parameters])
    )


def test_imports_with_both_kinds_of_batch_size_are_compared_by_the_global_one(store: Store) -> None:
    sweep = imported(store, {"workers": 4, "batch_size": 32}, {"workers": 4, "global_batch_size": 64})
    table = trial_table(store, sweep)
    assert table.batch_name == "global_batch_size"
    assert [row.batch_size for row in table.rows] == [128, 64]


def test_an_import_may_lack_batch_size_and_rate(store: Store) -> None:
    (row,) = trial_table(store, imported(store, {"workers": 1})).rows
    assert (row.batch_size, row.learning_rate, row.winner) == (None, None, True)


def test_no_area_over_the_axis_is_an_error_that_names_the_axes_there_are(store: Store) -> None:
    sweep = imported(store, {"workers": 1}, images=False)
    table = trial_table(store, sweep, "images")
    with pytest.raises(FigureError, match="none of its curves has an area over images") as caught:
        check_areas(table)
    assert caught.value.remedy == "take areas over seconds or steps"
    check_areas(trial_table(store, sweep, "steps"))


def test_a_sweep_without_trials_is_an_error(store: Store) -> None:
    with pytest.raises(FigureError, match="has no trials"):
        trial_table(store, store.sweeps.find(store.sweeps.add_import("empty", [])))


def test_tables_read_no_points(store: Store, outcomes: SweepRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[LossPoint]:
        raise AssertionError("a table of trials reads no points")

    monkeypatch.setattr(Attempts, "points", refuse)
    assert len(trial_table(store, outcomes).rows) == outcomes.trials


def test_oversubscribed_trials_are_shown_and_not_ranked_by_their_times_unless_asked_for(
    store: Store, outcomes: SweepRecord
) -> None:
    (winner,) = [row for row in trial_table(store, outcomes).rows if row.winner]
    store.attempts.assign_gang(winner.trial, 1, gang_of(outcomes), "log", oversubscribed=True)
    table = trial_table(store, outcomes)
    assert settings(table) == [None, (16, 0.1), None]
    (shown,) = [row for row in table.rows if row.trial == winner.trial]
    assert (shown.outcome, shown.area, shown.seconds) == (Outcome.OVERSUBSCRIBED, None, winner.seconds)
    assert settings(trial_table(store, outcomes, oversubscribed=True)) == [None, (16, 0.5), None]
    assert all(row.outcome is not Outcome.OVERSUBSCRIBED for row in trial_table(store, outcomes, "images").rows)


def test_where_all_are_oversubscribed_the_error_names_what_can_be_shown(store: Store) -> None:
    sweep = run(store, {"batch_size": [16]}, lambda _: curve(1.0, 1.0))
    (trial,) = store.trials.of(sweep.id)
    store.attempts.assign_gang(trial.id, 1, gang_of(sweep), "log", oversubscribed=True)
    with pytest.raises(FigureError, match="1 of 1 complete trials shared cores or GPUs") as caught:
        check_areas(trial_table(store, sweep))
    assert caught.value.remedy == "take areas over images or steps, or rank oversubscribed trials, too"
    check_areas(trial_table(store, sweep, oversubscribed=True))


def gang_of(sweep: SweepRecord) -> GangRecord:
    return GangRecord("gang", sweep.id, 2, ["host"], [1], {}, datetime.now(UTC))
