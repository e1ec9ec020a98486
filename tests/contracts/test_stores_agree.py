"""SQLite and PostgreSQL answer the same of the same records: the same ranking, the same floats to the last bit."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboards.figures.curves.table import curve_table
from dashboards.figures.tables import trial_table
from sweeper.answers.best import best_answer
from sweeper.answers.sweeps import show_answer
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, Store, open_store
from tests.contracts.databases import PostgresServer

SPEC = {
    "name": "same",
    "space": {"batch_size": [16, 32, 64], "learning_rate": [0.1, 0.2, 1 / 3], "workers": [1, 2, 4]},
    "objective": {"threshold": 0.3},
    "repeats": 3,
}


@pytest.fixture
def stores(tmp_path: Path, postgres: PostgresServer) -> Iterator[tuple[Store, Store]]:
    """One of each kind."""
    with postgres.fresh_url() as url:
        both = open_store(f"sqlite:///{tmp_path / 'sweeper.db'}"), open_store(url)
        yield both
        for store in both:
            store.close()


def number(chance: random.Random) -> float:
    """Any double, of every magnitude; now and then one that is easily lost."""
    special = [0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e16 + 2]
    return chance.choice(special) if chance.random() < 0.1 else chance.random() * 10.0 ** chance.randint(-12, 12)


def curve(chance: random.Random) -> list[LossPoint]:
    """Points of a trial; one in eight diverges."""
    seconds, points = 0.0, []
    for step in range(1, chance.randint(2, 12)):
        seconds += chance.random()
        points.append(LossPoint(step, 2**40 + 64 * step, seconds, number(chance)))
    if chance.random() < 0.125:
        points.append(LossPoint(99, 2**41, seconds + 1, chance.choice([math.nan, math.inf, -math.inf])))
    return points


def record(store: Store, seed: int) -> str:
    """A sweep of which trials completed, diverged, failed or wait; some tie. Its id."""
    chance, spec = random.Random(seed), parse_spec(SPEC)
    sweep = store.sweeps.add(spec, plan(spec))
    tie = curve(random.Random(0))
    for trial in store.trials.of(sweep):
        points = tie if chance.random() < 0.1 else curve(chance)
        summary = summarize(points)
        state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
        state = chance.choice([state] * 8 + [TrialState.FAILED])
        if chance.random() < 0.05:
            continue
        store.attempts.claim(trial.id)
        store.attempts.add_points(trial.id, 1, points)
        store.attempts.add_evaluation(
            trial.id, 1, EvaluationRecord(1, 64, number(chance), number(chance), chance.random())
        )
        store.attempts.finish(trial.id, 1, state, summary, phases={"compute": number(chance)})
    return sweep


def told(store: Store, sweep: str) -> str:
    """All that is answered of a sweep, without its id; the text of a float has all its bits."""
    record = store.sweeps.find(sweep)
    answers: list[Any] = [show_answer(store, sweep, order) for order in ("area", "plan", "loss")]
    for over in ("seconds", "images", "steps"):
        answers += [best_answer(store, sweep, threshold=limit, over=over) for limit in (None, 1e-3, 1.8)]
        answers.append(best_answer(store, sweep, by=["learning_rate", "workers"], over=over))
        table = trial_table(store, record, over)
        answers += [repr(table), repr(curve_table(store, table))]
    for trial in store.trials.of(sweep):
        answers.append(
            [
                repr(store.attempts.points(trial.id)),
                repr(store.attempts.evaluations(trial.id)),
                store.attempts.phases(trial.id, 1),
            ]
        )
    return json.dumps(answers, indent=1).replace(sweep, "")


@pytest.mark.parametrize("seed", range(3))
def test_both_give_the_same_answers(stores: tuple[Store, Store], seed: int) -> None:
    sqlite, postgresql = (told(store, record(store, seed)).splitlines() for store in stores)
    assert sqlite == postgresql
