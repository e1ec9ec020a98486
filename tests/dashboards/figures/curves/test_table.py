"""The table of curves."""

from __future__ import annotations

import math

import pytest

from dashboards.figures.curves.table import curve_table, followed_curves
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import Store, SweepRecord
from tests.dashboards.sweeps import curve, diverging, run, submit


def test_curves_are_the_winners_or_the_nearest(store: Store, outcomes: SweepRecord) -> None:
    waiting, won, above = curve_table(store, trial_table(store, outcomes)).rows
    assert (waiting.trial, waiting.losses) == (None, ())
    assert won.trial == won.group.winner
    assert won.trial is not None
    points = store.attempts.points(won.trial.trial)
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
    sweep = store.sweeps.find(store.sweeps.add_import("logs", given))
    with pytest.raises(FigureError, match="does not say its images; choose seconds or steps"):
        curve_table(store, trial_table(store, sweep, "images"))


def test_of_a_trial_that_is_repeated_a_page_follows_the_attempt_that_runs(store: Store) -> None:
    sweep = store.sweeps.find(submit(store, {"learning_rate": [0.1]}))
    (trial,) = store.trials.of(sweep.id)
    before, now = curve(3.0, 1.0), curve(2.0, 1.0)[:2]
    store.attempts.claim(trial.id)
    store.attempts.add_points(trial.id, 1, before)
    store.attempts.finish(trial.id, 1, TrialState.COMPLETED, summarize(before), oversubscribed=True)
    store.sweeps.repeat(sweep.id, [trial.id])

    def followed() -> tuple[int, list[LossPoint]]:
        (row,) = followed_curves(store, trial_table(store, sweep), ()).rows
        return row.trial.attempt, list(row.points)

    assert followed() == (1, before)
    store.attempts.claim(trial.id)
    assert followed() == (2, [])
    store.attempts.add_points(trial.id, 2, now)
    assert followed() == (2, now)
    (kept,) = curve_table(store, trial_table(store, sweep)).rows
    assert kept.losses == tuple(point.loss for point in before), "files draw the result"
