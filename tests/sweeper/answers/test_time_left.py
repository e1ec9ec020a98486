"""The time left: of sweeps in virtual time, some with trials that are stopped early."""

from __future__ import annotations

import heapq
import random
from datetime import UTC, datetime

import pytest

from sweeper.answers.time_left import estimate
from sweeper.store.progress import AttemptTime, RunningTrial

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ended(*times: tuple[int, float]) -> list[AttemptTime]:
    return [AttemptTime(workers, seconds, NOW) for workers, seconds in times]


def running(*trials: tuple[int, float]) -> list[RunningTrial]:
    return [RunningTrial(f"t{n}", 1, workers, age) for n, (workers, age) in enumerate(trials)]


def test_nothing_is_said_before_a_trial_has_ended_or_where_none_runs() -> None:
    assert estimate({1: 4}, running((1, 3.0)), []) is None
    assert estimate({1: 4}, [], ended((1, 10.0))) is None


def test_equal_trials_take_their_number_by_their_time() -> None:
    found = estimate({1: 8}, running((1, 4.0), (1, 4.0)), ended(*[(1, 10.0)] * 5))
    assert found
    assert found.seconds == pytest.approx((8 * 10 + 2 * 6) / 2)
    assert 0.9 * found.seconds < found.low < found.seconds < found.high < 1.1 * found.seconds


def test_of_those_that_wait_as_many_run_as_of_those_before() -> None:
    found = estimate({1: 100}, running((1, 0.0)), ended(*[(1, 10.0)] * 9), share=0.1)
    assert found
    assert found.seconds == pytest.approx(110)


def test_a_trial_that_a_search_will_add_counts() -> None:
    found = estimate({}, running((2, 0.0)), ended(*[(2, 10.0)] * 3), to_come=3)
    assert found
    assert found.seconds == pytest.approx(40)


def test_a_worker_count_that_has_not_ended_yet_is_judged_by_the_nearest_and_widely() -> None:
    found = estimate({4: 4}, running((4, 0.0)), ended(*[(2, 10.0)] * 9, (1, 100.0)))
    assert found
    assert found.seconds == pytest.approx(50)
    assert found.high > 1.5 * found.seconds


def test_of_one_that_is_older_than_all_little_is_known() -> None:
    found = estimate({}, running((1, 50.0)), ended((1, 10.0), (1, 12.0)))
    assert found
    assert found.seconds == 25
    assert found.low < 1
    assert found.high > 50


def test_sweeps_whose_trials_are_mostly_stopped_early_end_within_the_interval() -> None:
    """Two seats; three of four trials are stopped after a tenth of their time. Asked at a third of its time."""
    inside = 0
    rounds = 200
    for seed in range(rounds):
        draw = random.Random(seed)
        times = [draw.uniform(9, 11) * (0.1 if draw.random() < 0.75 else 1.0) for _ in range(120)]
        seats = [(0.0, 0.0, 0.0)] * 2  # end, begin, time
        heapq.heapify(seats)
        ends: list[tuple[float, float]] = []
        begun: list[tuple[float, float]] = []
        for seconds in times:
            end, _, _ = heapq.heappop(seats)
            begun.append((end, seconds))
            heapq.heappush(seats, (end + seconds, end, seconds))
            ends.append((end + seconds, seconds))
        total = max(end for end, _ in ends)
        now = total / 3
        found = estimate(
            {1: sum(begin > now for begin, _ in begun)},
            running(*[(1, now - begin) for begin, seconds in begun if begin <= now < begin + seconds]),
            ended(*[(1, seconds) for end, seconds in ends if end <= now]),
        )
        assert found
        inside += found.low <= total - now <= found.high
    assert 0.7 * rounds <= inside <= 0.95 * rounds
