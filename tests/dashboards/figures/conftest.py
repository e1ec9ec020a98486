"""Sweeps that several figures are tried on."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.store import Store, SweepRecord, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, run

_SPACE: dict[str, Any] = {"batch_size": [16, 64], "learning_rate": [0.1, 0.5], "workers": [2, 10, 1]}


def _result(trial: TrialRecord) -> Result:
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
def outcomes(store: Store) -> SweepRecord:
    """Two workers: a trial of each outcome; ten: nothing qualifies; one: nothing has run."""
    return run(store, _SPACE, _result)


_FOUR: dict[str, Any] = {"batch_size": [16, 128], "learning_rate": [0.1, 0.5], "workers": [10, 2, 1]}


AWKWARD = '实验 #1/日本 "x" <b> costs $5 or $6'


def _one_winner(trial: TrialRecord) -> Result:
    """The smallest area at 128 / 0.5; ten workers stay above the threshold, one diverges."""
    size, rate = trial.parameters["batch_size"], trial.parameters["learning_rate"]
    if trial.workers == 1:
        return diverging()
    return curve(1000 / size / rate, 1.5 - rate if trial.workers == 2 else 2.5)


@pytest.fixture
def named(store: Store) -> SweepRecord:
    """Three groups, of which one has a winner."""
    return run(store, _FOUR, _one_winner, name=AWKWARD)
