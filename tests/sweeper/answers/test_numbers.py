"""Durations as people read them."""

from __future__ import annotations

import math

import pytest

from sweeper.answers.numbers import about, as_passed, duration, parameter, plain


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.0, "0.0 s"),
        (0.85, "850 ms"),
        (12.34, "12.3 s"),
        (245.0, "4 min 05 s"),
        (3599.7, "1 h 00 min"),
        (10_920.0, "3 h 02 min"),
        (5 * 86_400 + 3 * 3600, "5 d 03 h"),
    ],
)
def test_duration(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


def test_an_estimate_has_no_digits_that_mean_nothing() -> None:
    assert [about(seconds) for seconds in (None, 0.4, 12.34, 245.0)] == ["–", "0 s", "12 s", "4 min 05 s"]


def test_numbers_of_a_command_are_shown_as_it_gets_them() -> None:
    given = {"rate": 1e3, "decay": 1e-5, "depth": 3, "kind": "adam", "flag": "", "factor": None}
    assert [parameter(value) for value in as_passed(given).values()] == ["1000.0", "1e-05", "3", "adam", '""', "-"]
    assert [parameter(value) for value in given.values()] == ["1000", "0.00001", "3", "adam", '""', "-"]
    assert {name: plain(value) for name, value in as_passed(given).items()} == given
    assert type(plain(as_passed(given)["rate"])) is float
