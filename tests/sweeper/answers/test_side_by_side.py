"""How many trials ran at a time, by worker count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from sweeper.answers.side_by_side import side_by_side_words, trials_at_a_time
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import AttemptSpan, Store
from tests.sweeper.answers.test_timeline import serve
from tests.sweeper.scheduling.scripted import submit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def span(
    workers: int,
    begin: float,
    trained: float | None,
    off_clock: float = 0.0,
    setup: float = 1.0,
    hosts: Sequence[str] = ("host",),
) -> AttemptSpan:
    """An attempt whose training begins `begin` seconds after noon."""
    started = NOON + timedelta(seconds=begin - setup - 0.5)
    return AttemptSpan("t", 1, "g", workers, "completed", started, 0.5, setup, trained, off_clock, None, hosts)


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ([], {}),
        ([span(1, 0, None)], {}),
        ([span(1, 0, 10), span(2, 10, 10)], {1: 1, 2: 1}),
        ([span(1, 0, 10), span(1, 0, 10), span(2, 20, 5)], {1: 2, 2: 1}),
        ([span(1, 0, 10), span(1, 5, 10)], {1: 1.5}),
        ([span(1, 0, 30), span(2, 10, 10)], {1: 4 / 3, 2: 2}),
        ([span(1, 0, 6, off_clock=4), span(2, 8, 2, setup=3)], {1: 1.2, 2: 2}),
        ([span(1, 0, 10), span(1, 0, 10), span(1, 0, 10), span(4, 0, 5)], {1: 3.5, 4: 4}),
        ([span(1, 0, 10, hosts=["a"]), span(1, 0, 10, hosts=["b"])], {1: 1}),
        ([span(1, 0, 10, hosts=["a"]), span(2, 0, 10, hosts=["a", "b"])], {1: 2, 2: 2}),
    ],
)
def test_it_is_the_mean_over_the_time_of_training(spans: list[AttemptSpan], found: dict[int, float]) -> None:
    assert trials_at_a_time(spans) == pytest.approx(found)


def test_it_is_said_where_worker_counts_differ_in_it(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16])
    assert side_by_side_words(store, store.sweeps.find(sweep)) == ""
    for trial, begin in zip(store.trials.of(sweep), (0, 0, 30, 45), strict=True):
        serve(store, trial, f"gang {begin} {trial.id}", begin, 1, 1, 10)
    told = side_by_side_words(store, store.sweeps.find(sweep))
    assert told.startswith("Trials with 1 worker ran 2.0 at a time, and those with 2 workers 1.0. On one machine they")
    assert "--one-at-a-time" in told


def test_it_is_not_said_of_workers_with_a_gpu_each(store: Store) -> None:
    space = {"workers": [1, 2], "batch_size": [8, 16]}
    spec = parse_spec({"name": "on GPUs", "space": space, "resources": {"gpus_per_worker": 1}})
    sweep = store.sweeps.add(spec, plan(spec))
    for trial, begin in zip(store.trials.of(sweep), (0, 0, 30, 45), strict=True):
        serve(store, trial, f"gang {begin} {trial.id}", begin, 1, 1, 10)
    assert side_by_side_words(store, store.sweeps.find(sweep)) == ""
