"""What gangs did when, from the times of attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sweeper.answers.timeline import OFF_THE_CLOCK, SET_UP, START, TRAINING, timeline
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import GangRecord, Store, TrialRecord
from tests.sweeper.scheduling.scripted import submit

ZERO = datetime(2026, 3, 1, 12, tzinfo=UTC)


def serve(
    store: Store,
    trial: TrialRecord,
    gang: str,
    at: float,
    startup: float,
    setup: float,
    seconds: float | None,
    **phases: float,
) -> None:
    """An attempt of this gang, which got its seats `at` seconds; without `seconds` it still trains."""
    attempt = store.attempts.claim(trial.id)
    assert attempt
    record = GangRecord(gang, trial.sweep_id, trial.workers, ["host"], [1], {}, ZERO)
    held = ZERO + timedelta(seconds=at)
    store.attempts.assign_gang(trial.id, attempt, record, "log", held_since=held)
    store.attempts.start(trial.id, attempt, startup, setup, {})
    if seconds is not None:
        points = [LossPoint(1, 64, seconds, 1.0)]
        store.attempts.add_points(trial.id, attempt, points)
        ended: dict[str, Any] = {"phases": {"compute": seconds, **phases}}
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), **ended)


def test_a_gang_starts_sets_up_and_trains_one_trial_after_another(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16])
    one, other, two, last = store.trials.of(sweep)
    serve(store, one, "a", 0, 4, 1, 10)
    serve(store, other, "b", 0, 4, 2, 20, evaluation=3.0)
    serve(store, two, "c", 30, 1, 1, 8)
    serve(store, last, "c", 41, 0, 0.5, None)
    found = timeline(store, sweep, now=ZERO + timedelta(seconds=50))
    assert found
    told = [(g.gang, g.workers, g.lane, [(p.name, p.begin, p.end) for p in g.parts]) for g in found.gangs]
    assert told == [
        ("a", 1, 0, [(START, 0, 4), (SET_UP, 4, 5), (TRAINING, 5, 15)]),
        ("b", 1, 1, [(START, 0, 4), (SET_UP, 4, 6), (TRAINING, 6, 26), (OFF_THE_CLOCK, 26, 29)]),
        ("c", 2, 2, [(START, 30, 31), (SET_UP, 31, 32), (TRAINING, 32, 40), (SET_UP, 41, 41.5), (TRAINING, 41.5, 50)]),
    ]
    assert (found.seconds, found.seats, found.lanes) == (50, 2, (1, 1, 2))
    assert found.busy == pytest.approx((10 + 20 + 2 * (8 + 8.5)) / (2 * 50))
    assert found.spent(START) == 9


def test_gangs_that_follow_each_other_share_a_lane(store: Store) -> None:
    sweep = submit(store, batch_size=[8, 16, 32])
    for number, trial in enumerate(store.trials.of(sweep)):
        serve(store, trial, f"gang {number}", 10.0 * number, 1, 1, 5)
    found = timeline(store, sweep)
    assert found
    assert [gang.lane for gang in found.gangs] == [0, 0, 0]
    assert (found.seats, found.seconds) == (1, 27)


def test_trials_without_gangs_have_no_timeline(store: Store) -> None:
    sweep = submit(store, batch_size=[8])
    assert timeline(store, sweep) is None
    (trial,) = store.trials.of(sweep)
    store.attempts.claim(trial.id)
    assert timeline(store, sweep) is None, "its gang is not up"
