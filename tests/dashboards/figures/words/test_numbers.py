"""How numbers and names are written."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.words.numbers import measure, number, printable, setting, settings


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (12.3456, "12.35"),
        (1368.328, "1368"),
        (9999.6, "10k"),
        (46080.0, "46.08k"),
        (999_960.0, "1M"),
        (1e6, "1M"),
        (-1_234_567.0, "-1.235M"),
        (2.5e9, "2.5G"),
        (3e13, "3e13"),
        (0.0000123, "1.23e-5"),
        (math.inf, "inf"),
    ],
)
def test_numbers_have_four_significant_digits_at_most(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5000"), (288.033, "288.0"), (12.3, "12.30"), (1415.9, "1416"), (1e6, "1.000M"), (460_800.0, "460.8k")],
)
def test_measured_numbers_have_four_significant_digits(value: float, text: str) -> None:
    assert measure(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (65536, "65536"),
        (16.0, "16"),
        (0.1, "0.1"),
        (1e-05, "1e-5"),
        ("weights", "weights"),
        (True, "True"),
        ("x" * 30, "x" * 23 + "…"),
    ],
)
def test_settings_are_written_as_a_user_knows_them(value: Any, text: str) -> None:
    assert setting(value) == text


def test_settings_get_the_digits_that_tell_them_apart() -> None:
    assert settings([0.1, 0.00316227766017, 1]) == ["0.1", "0.00316", "1"]
    assert settings([0.30001, 0.30002, 0.3]) == ["0.30001", "0.30002", "0.3"]


def test_numbers_along_an_axis_have_the_same_decimals() -> None:
    write = AxisNumbers().format_ticks
    assert write([0, 0.2, 0.4, 1.0]) == ["0.0", "0.2", "0.4", "1.0"]
    assert write([0, 50_000, 100_000]) == ["0", "50k", "100k"]
    assert write([1, 100, 10_000]) == ["1", "100", "10k"]
    assert write([]) == []


def test_only_what_rounding_left_of_a_zero_is_one() -> None:
    write = AxisNumbers().format_ticks
    assert write([1e-17, 0.2, 0.4]) == ["0.0", "0.2", "0.4"]
    decades = write([10.0**power for power in range(-10, 3)])
    assert "0" not in decades
    assert len(set(decades)) == 13


def test_texts_are_on_one_line_without_control_characters() -> None:
    assert printable("a\x00b\n  c\td") == "a\ufffdb c d"


def test_lines_break_between_words_and_within_long_ones() -> None:
    assert wrap("one two three", 100, 10) == "one two three"
    assert wrap("one two three", 0.6, 10).splitlines() == ["one two", "three"]
    assert "".join(wrap("実験" * 30, 1, 12).split()) == "実験" * 30
    assert all(len(line) <= 6 for line in wrap("実験" * 30, 1, 12).splitlines())
    assert wrap("", 1, 10) == ""
