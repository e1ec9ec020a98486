"""The tables say what the store holds, and who won."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from dashboards.figures.accuracy.table import accuracy_table
from dashboards.figures.curves.table import curve_table
from dashboards.figures.tables import Outcome, TrialTable, trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import GangRecord, Store, SweepRecord, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, evaluated, run

SPACE: dict[str, Any] = {"batch_size": [16, 64], "learning_rate": [0.1, 0.5], "workers": [2, 10, 1]}


def outcomes(trial: TrialRecord) -> Result:
    """Two workers: one of each outcome; ten: nothing qualifies; one: nothing has run."""
    setting = (trial.parameters["batch_size"], trial.parameters["learning_rate"])
    if trial.workers == 10:
        return curve(3.0, 1.9 + setting[1])
    if trial.workers == 1:
        return None
    results: dict[tuple[int, float], Result] = {
        (16, 0.1): curve(12.5, 1.4),
        (16, 0.5): curve(8.25, 1.8),
        (64, 0.1): curve(5.0, 1.81),
        (64, 0.5): diverging(),
    }
    return results[setting]


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    """The sweep of `outcomes`."""
    return run(store, SPACE, outcomes)


def settings(table: TrialTable) -> list[tuple[Any, Any] | None]:
    """Batch size and rate of each group's winner."""
    return [(group.winner.batch_size, group.winner.learning_rate) if group.winner else None for group in table.groups]


def test_groups_are_in_numeric_order_with_their_winners(store: Store, sweep: SweepRecord) -> None:
    table = trial_table(store, sweep)
    assert [group.key for group in table.groups] == [{"workers": 1}, {"workers": 2}, {"workers": 10}]
    assert settings(table) == [None, (16, 0.5), None]
    assert [group.best_minimum_loss for group in table.groups] == [None, pytest.approx(1.4), pytest.approx(2.0)]
    assert (table.sweep, table.name, table.over, table.threshold) == (sweep.id, "sweep", "seconds", 1.8)
    assert table.batch_name == "batch_size"


def test_a_row_holds_what_the_trial_came_to(store: Store, sweep: SweepRecord) -> None:
    rows = trial_table(store, sweep).groups[1].rows
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


def test_rows_lists_every_trial_once(store: Store, sweep: SweepRecord) -> None:
    rows = trial_table(store, sweep).rows
    assert sorted(row.trial for row in rows) == sorted(trial.id for trial in store.trials(sweep.id))


def test_threshold_and_axis_may_be_others_than_the_sweeps(store: Store, sweep: SweepRecord) -> None:
    table = trial_table(store, sweep, "images", 1.5)
    assert settings(table) == [None, (16, 0.1), None]
    assert (table.over, table.threshold) == ("images", 1.5)
    winner = table.groups[1].winner
    assert winner is not None
    assert winner.area == pytest.approx(64 * 4 * 1.9)


def test_a_threshold_of_zero_is_a_threshold(store: Store, sweep: SweepRecord) -> None:
    assert trial_table(store, sweep, threshold=0.0).threshold == 0.0


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
    return store.find_sweep(
        store.add_import("logs", [(given, "a.log", points, summarize(points)) for given in parameters])
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
    with pytest.raises(FigureError, match="none of its curves has an area over images") as caught:
        trial_table(store, sweep, "images")
    assert caught.value.remedy == "use --over seconds or --over steps"


def test_a_sweep_without_trials_is_an_error(store: Store) -> None:
    with pytest.raises(FigureError, match="has no trials"):
        trial_table(store, store.find_sweep(store.add_import("empty", [])))


def test_tables_read_no_points(store: Store, sweep: SweepRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[LossPoint]:
        raise AssertionError("a table of trials reads no points")

    monkeypatch.setattr(Store, "points", refuse)
    assert len(trial_table(store, sweep).rows) == sweep.trials


def test_curves_are_the_winners_or_the_nearest(store: Store, sweep: SweepRecord) -> None:
    waiting, won, above = curve_table(store, trial_table(store, sweep)).rows
    assert (waiting.trial, waiting.losses) == (None, ())
    assert won.trial == won.group.winner
    assert won.trial is not None
    points = store.points(won.trial.trial)
    assert won.positions == tuple(point.seconds for point in points)
    assert won.losses == tuple(point.loss for point in points)
    assert above.trial is not None
    assert (above.group.winner, above.trial.batch_size, above.trial.learning_rate) == (None, 16, 0.1)


@pytest.mark.parametrize(("over", "expected"), [("steps", (1.0, 2.0, 3.0)), ("images", (64.0, 128.0, 192.0))])
def test_curves_are_over_the_tables_axis(store: Store, over: str, expected: tuple[float, ...]) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0, points=3), over=over)
    (row,) = curve_table(store, trial_table(store, sweep)).rows
    assert row.positions == expected


def test_a_diverged_curve_keeps_its_gaps(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: diverging())
    (row,) = curve_table(store, trial_table(store, sweep)).rows
    assert row.losses[:2] == (2.3, math.inf)
    assert math.isnan(row.losses[2])


def test_no_curve_at_all_is_an_error(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: None)
    with pytest.raises(FigureError, match="has no loss points to draw"):
        curve_table(store, trial_table(store, sweep))


def test_a_curve_that_does_not_say_its_images_is_an_error(store: Store) -> None:
    whole = [LossPoint(i, 64 * i, float(i), 2.0 - i / 10) for i in range(1, 5)]
    bare = [LossPoint(p.step, None, p.seconds, p.loss) for p in whole]
    given = [({"workers": 1}, "a", whole, summarize(whole)), ({"workers": 2}, "b", bare, summarize(bare))]
    sweep = store.find_sweep(store.add_import("logs", given))
    with pytest.raises(FigureError, match="does not say its images; use --over seconds or steps"):
        curve_table(store, trial_table(store, sweep, "images"))


def test_accuracies_are_those_of_the_trials_whose_curves_are_drawn(store: Store, sweep: SweepRecord) -> None:
    table = trial_table(store, sweep)
    for trial in store.trials(sweep.id):
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
    evaluated(store, store.trials(sweep.id)[0].id, 0.5, 0.6)
    (row,) = accuracy_table(store, trial_table(store, sweep)).rows
    assert row.positions == expected


def test_accuracies_read_no_points(store: Store, sweep: SweepRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[LossPoint]:
        raise AssertionError("one query has all evaluations, and none reads points")

    table = trial_table(store, sweep)
    winner = table.groups[1].winner
    assert winner is not None
    evaluated(store, winner.trial, 0.5)
    for name in ("points", "evaluations"):
        monkeypatch.setattr(Store, name, refuse)
    assert [row.accuracies for row in accuracy_table(store, table).rows] == [(), (0.5,), ()]


def test_a_sweep_without_evaluations_is_an_error_that_says_how_to_get_some(store: Store, sweep: SweepRecord) -> None:
    with pytest.raises(FigureError, match="sweep 'sweep': none of its trials was evaluated") as caught:
        accuracy_table(store, trial_table(store, sweep))
    assert caught.value.remedy == "set trial.evaluate_every in its spec, and run it again"


def test_evaluations_of_trials_that_still_run_are_drawn_once_one_has_ended(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: TrialState.RUNNING)
    (trial,) = store.trials(sweep.id)
    evaluated(store, trial.id, 0.5)
    with pytest.raises(FigureError, match="wait until a trial has ended"):
        accuracy_table(store, trial_table(store, sweep))
    store.finish(trial.id, 1, TrialState.COMPLETED, summarize(curve(1.0, 1.0)))
    assert accuracy_table(store, trial_table(store, sweep)).rows[0].accuracies == (0.5,)


def test_oversubscribed_trials_are_shown_and_not_ranked_by_their_times_unless_asked_for(
    store: Store, sweep: SweepRecord
) -> None:
    (winner,) = [row for row in trial_table(store, sweep).rows if row.winner]
    store.assign_gang(winner.trial, 1, gang_of(sweep), "log", oversubscribed=True)
    table = trial_table(store, sweep)
    assert settings(table) == [None, (16, 0.1), None]
    (shown,) = [row for row in table.rows if row.trial == winner.trial]
    assert (shown.outcome, shown.area, shown.seconds) == (Outcome.OVERSUBSCRIBED, None, winner.seconds)
    assert settings(trial_table(store, sweep, oversubscribed=True)) == [None, (16, 0.5), None]
    assert all(row.outcome is not Outcome.OVERSUBSCRIBED for row in trial_table(store, sweep, "images").rows)


def test_where_all_are_oversubscribed_the_error_names_what_can_be_shown(store: Store) -> None:
    sweep = run(store, {"batch_size": [16]}, lambda _: curve(1.0, 1.0))
    (trial,) = store.trials(sweep.id)
    store.assign_gang(trial.id, 1, gang_of(sweep), "log", oversubscribed=True)
    with pytest.raises(FigureError, match="use --over images or --over steps or --oversubscribed"):
        trial_table(store, sweep)


def gang_of(sweep: SweepRecord) -> GangRecord:
    return GangRecord("gang", sweep.id, 2, ["host"], [1], {}, datetime.now(UTC))
