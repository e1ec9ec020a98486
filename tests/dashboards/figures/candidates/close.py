"""A sweep whose best settings lie close together."""

from __future__ import annotations

import math
from typing import Any

from dashboards.figures import Source
from dashboards.figures.tables import trial_table
from sweeper.answers.best import best_answer
from sweeper.store import Store, SweepRecord, TrialRecord
from tests.dashboards.sweeps import Result, curve, run

_SPACE: dict[str, Any] = {
    "batch_size": [32, 64, 128],
    "learning_rate": [0.05, 0.1, 0.2, 0.4],
    "workers": [1, 2, 4],
}


def _result(trial: TrialRecord) -> Result:
    """Smallest at batch 64 and rate 0.1, a little uneven; of four workers only the first trials have run."""
    size, rate = trial.parameters["batch_size"], trial.parameters["learning_rate"]
    far = math.log2(size / 64) ** 2 + math.log2(rate / 0.1) ** 2
    if trial.workers == 4 and (size, rate) > (32, 0.2):
        return None
    return curve(6.0 / trial.workers * math.exp(0.02 * far + 0.01 * math.sin(9 * size + 50 * rate)), 1.2)


def close(store: Store) -> SweepRecord:
    """One and two workers: several settings may be the best; four: too few have run to tell."""
    return run(store, _SPACE, _result, name="close")


def source_of(store: Store, sweep: SweepRecord) -> Source:
    """What figures are made of on the command line."""
    answers = best_answer(store, sweep.id, recommend=True)["groups"]
    return Source(store, trial_table(store, sweep), answers=lambda _: answers)
