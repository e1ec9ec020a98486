"""What is said beforehand of the seeds that a sweep will add."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sweeper.answers.race_ahead import race_ahead
from sweeper.ranking.seeds_ahead import trials_ahead
from sweeper.spec import parse_spec
from sweeper.spec.repeats import Race

SPACE = {"batch_size": [16, 32, 64, 128], "learning_rate": [0.01, 0.02, 0.04, 0.08], "workers": [1, 2]}


def ahead(repeats: Any) -> str | None:
    return race_ahead(parse_spec({"name": "x", "space": SPACE, "repeats": repeats}))


def about(line: str | None) -> int:
    found = re.search(r"about (\d+) trials in all", line or "")
    assert found
    return int(found[1])


def test_a_line_says_what_there_is_to_begin_with_when_it_ends_and_about_how_many_trials() -> None:
    line = ahead({"regret": "1%"})
    assert line
    assert line.startswith("repeats: 1 seed of each of 32 settings, then more where they tell most, until what is ")
    assert "expected to be 1 % above the best, or less; about " in line
    assert " trials in all, 320 at most. " in line
    assert "the best of each group is told apart at 90 %" in (ahead({"level": 0.9}) or "")
    assert ahead(3) is None


def test_a_smaller_regret_and_more_seeds_to_begin_with_take_more_trials() -> None:
    assert 32 <= about(ahead({"regret": 0.02})) < about(ahead({"regret": 0.002})) < 320
    assert about(ahead({"regret": 0.02, "at_least": 2})) >= 64
    assert about(ahead("auto")) > 64
    assert about(ahead({"regret": 0.0005, "trials": 40})) == 40


@pytest.mark.parametrize("workers", [[1], [1, 2, 4]])
def test_each_group_has_seeds_of_its_own(workers: list[int]) -> None:
    points = [
        {"batch_size": batch, "workers": count, "seed": 0} for batch in (8, 16, 32, 64, 128, 256) for count in workers
    ]
    further = trials_ahead(points, ["workers"], Race(regret=0.001)) - len(points)
    alone = trials_ahead(points[:: len(workers)], ["workers"], Race(regret=0.001)) - 6
    assert alone > 0
    assert further == pytest.approx(alone * len(workers), abs=len(workers))


def test_a_single_setting_gets_no_further_seeds() -> None:
    assert trials_ahead([{"workers": 1, "batch_size": 8}], ["workers"], Race(regret=0.001)) == 1
