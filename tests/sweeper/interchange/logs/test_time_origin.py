"""Where the seconds of an import begin: decided once for all of its logs."""

from __future__ import annotations

import pytest

from sweeper.interchange.logs.time_origin import TimeOrigin, decide_origin
from sweeper.ranking.time_origin import why_not_from_zero


@pytest.mark.parametrize(
    "seconds", [(), (0.0,), (5.0,), (0.0, 1.0), (3.0, 4.0, 5.0), (1.0, 1.5, 2.0), (7.0, 8.0, 20.0)]
)
def test_what_begins_within_three_median_intervals_are_durations(seconds: tuple[float, ...]) -> None:
    assert why_not_from_zero(seconds) == ""


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        ((3.1, 4.1, 5.1), "its first point lies at 3.1 s, and its points are 1 s apart"),
        ((5.0, 5.0), "its first point lies at 5 s, and its points are 0 s apart"),
        ((-0.5, 1.0), "its seconds begin below zero, at -0.5"),
        ((1.7e9,), "its seconds are those of a clock"),
    ],
)
def test_what_does_not_is_said_with_its_numbers(seconds: tuple[float, ...], why: str) -> None:
    assert why_not_from_zero(seconds) == why


def test_one_log_decides_for_all_and_a_choice_goes_before() -> None:
    logs = [("a", [1.0, 2.0]), ("b", [100.0, 101.0])]
    guessed = decide_origin(None, logs)
    assert guessed.origin is TimeOrigin.FIRST
    assert guessed.guessed.startswith("b: its first point")
    assert decide_origin(None, logs[:1]).origin is TimeOrigin.ZERO
    for chosen in ("zero", "first"):
        decided = decide_origin(chosen, logs)
        assert (decided.origin.value, decided.guessed, decided.notes) == (chosen, "", [])
