"""Whether seeds of one setting took as long as each other."""

from __future__ import annotations

import pytest

from sweeper.answers.uneven_pace import pace_ratios, uneven_pace_words
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store


def ran(store: Store, repeats: int, seconds: list[float]) -> str:
    """A sweep of two settings, whose trials took so long."""
    spec = parse_spec({"name": "x", "space": {"batch_size": [64, 128], "workers": [1]}, "repeats": repeats})
    sweep = store.sweeps.add(spec, plan(spec))
    for trial, took in zip(store.trials.of(sweep), seconds, strict=True):
        attempt = store.attempts.claim(trial.id)
        assert attempt
        points = [LossPoint(1, 100, took, 1.0)]
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points))
    return sweep


def test_a_busy_machine_is_told_from_a_quiet_one(store: Store) -> None:
    busy = ran(store, 2, [4.0, 2.0, 6.0, 3.0])
    assert pace_ratios(store.trials.of(busy)) == pytest.approx([2.0, 2.0])
    assert uneven_pace_words(store, busy).startswith("Seeds of one setting took up to 2.0 times as long as each other")
    quiet = ran(store, 2, [2.1, 2.0, 3.0, 3.0])
    assert uneven_pace_words(store, quiet) == ""


def test_settings_with_one_seed_say_nothing(store: Store) -> None:
    assert uneven_pace_words(store, ran(store, 1, [1.0, 9.0])) == ""
