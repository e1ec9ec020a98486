"""Lists and ranges: which values they give."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sweeper.errors import SpecError
from sweeper.spec import parse_spec
from sweeper.spec.axes import MAXIMUM_VALUES, Range, expand, parse_axis

_THOUSANDTHS = st.integers(-5_000, 5_000).map(lambda number: number / 1000)


def values(**fields: Any) -> list[float]:
    return Range(**fields).values()


def faults(axis: Any, field: str = "learning_rate") -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_spec({"name": "mine", "space": {field: axis}})
    return caught.value.problems


def test_a_step_is_added_without_rounding_from_low_to_high() -> None:
    assert values(low=0.1, high=0.9, step=0.1) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert values(low=0.1, high=0.35, step=0.1) == [0.1, 0.2, 0.3]
    assert values(low=5, high=5, step=1) == [5.0]
    assert values(low=-0.2, high=0.2, step=0.2) == [-0.2, 0.0, 0.2]


def test_a_log_range_multiplies_by_ten_or_by_the_step() -> None:
    assert values(low=1e-4, high=0.1, log=True) == [0.0001, 0.001, 0.01, 0.1]
    assert values(low=16, high=512, log=True, step=2) == [16, 32, 64, 128, 256, 512]
    assert values(low=0.001, high=0.5, log=True) == [0.001, 0.01, 0.1]
    assert values(low=3, high=3, log=True) == [3]


def test_a_count_spaces_evenly_or_evenly_in_the_logarithm() -> None:
    assert values(low=0, high=1, count=5) == [0, 0.25, 0.5, 0.75, 1]
    assert values(low=1e-4, high=1, log=True, count=3) == [0.0001, 0.01, 1]
    assert values(low=0.1, high=0.1, count=1) == [0.1]


@pytest.mark.parametrize("fields", [{}, {"count": 3}, {"step": 1e100}])
def test_log_ranges_reach_over_all_that_a_double_holds(fields: dict[str, Any]) -> None:
    found = values(low=1e-300, high=1e300, log=True, **fields)
    assert (found[0], found[-1]) == (1e-300, 1e300)
    assert all(map(math.isfinite, found))


def test_even_spacing_reaches_over_all_that_a_double_holds() -> None:
    assert values(low=-1e308, high=1e308, count=3) == [-1e308, 0.0, 1e308]


def test_ranges_over_integer_fields_give_integers() -> None:
    found = expand(Range(low=16, high=512, log=True, count=4), integers=True)
    assert found == [16, 51, 161, 512]
    assert all(isinstance(value, int) for value in found)
    assert expand(Range(low=1, high=2, step=0.5), integers=True) == [1, 1.5, 2]  # refused by the field, with its value


def test_lists_stay_as_they_are_written() -> None:
    assert expand(parse_axis([16, 32.0, "64"]), integers=True) == [16, 32.0, "64"]
    assert parse_axis("weights") == ["weights"]
    assert parse_axis(None) == []
    assert parse_axis((1, 2)) == [1, 2]


@pytest.mark.parametrize("value", [[1], {"low": 1}, {1, 2}])
def test_a_list_holds_single_values_only(value: Any) -> None:
    with pytest.raises(ValueError, match="is no single value"):
        parse_axis([value])


@pytest.mark.parametrize(
    ("axis", "fault"),
    [
        ({"low": 0.9, "high": 0.1, "step": 0.1}, ": low 0.9 is above high 0.1: exchange them"),
        (
            {"low": 0.1, "high": 0.9, "step": 0.1, "count": 3},
            ": step and count exclude each other: keep one of them",
        ),
        ({"low": 0.1, "high": 0.9}, ": neither step nor count is given: add one of them, or search: random"),
        (
            {"low": 0, "high": 1, "log": True},
            ": low 0 has no logarithm: a log range needs bounds above zero",
        ),
        (
            {"low": -1, "high": -0.1, "log": True, "count": 2},
            ": low -1 has no logarithm: a log range needs bounds above zero",
        ),
        (
            {"low": 0.1, "high": 1, "log": True, "step": 1},
            ": step 1 is a factor in a log range: give one above 1",
        ),
        ({"low": 0.1, "high": 1, "step": 0}, ".step: 0 must be greater than 0; give a larger number"),
        ({"low": 0.1, "high": 1, "step": -0.1}, ".step: -0.1 must be greater than 0; give a larger number"),
        ({"low": 0.1, "high": 1, "count": 0}, ".count: 0 must be greater than 0; give a larger number"),
        ({"low": 0.1, "high": 1, "count": 2.5}, ".count: 2.5 is no whole number; give one"),
        ({"low": math.nan, "high": 1, "count": 2}, ".low: nan is not finite; give a finite number"),
        ({"low": 0.1, "high": math.inf, "step": 0.1}, ".high: inf is not finite; give a finite number"),
        ({"low": "a little", "high": 1, "count": 2}, ".low: 'a little' is no number; give one, such as 0.1 or 1e-3"),
        ({"low": True, "high": 1, "count": 2}, ".low: True: expected a number, not true or false"),
        ({"low": 0.1, "count": 2}, ".high: is missing; add it"),
        (
            {"low": 0, "high": 1, "step": 1e-9},
            f": more than {MAXIMUM_VALUES} values: give a larger step or a smaller count",
        ),
        (
            {"low": 0.1, "high": 1, "count": MAXIMUM_VALUES + 1},
            f": more than {MAXIMUM_VALUES} values: give a larger step or a smaller count",
        ),
    ],
)
def test_ranges_that_cannot_hold_are_refused(axis: dict[str, Any], fault: str) -> None:
    assert faults(axis) == [f"space.learning_rate{fault}"]


def test_a_step_between_whole_numbers_is_refused_for_a_whole_field() -> None:
    assert faults({"low": 1, "high": 2, "step": 0.5}, "batch_size") == [
        "space.batch_size: 1.5 is no whole number; give one"
    ]


def _assert_rises_within(found: list[float], low: float, high: float) -> None:
    assert found[0] == low
    assert found[-1] <= high
    assert all(left < right for left, right in pairwise(found))


@given(_THOUSANDTHS, st.integers(1, 500).map(lambda number: number / 1000), st.integers(0, 60), st.floats(0, 0.99))
def test_linear_ranges_hold_every_step_within_their_bounds(
    low: float, step: float, steps: int, remainder: float
) -> None:
    high = round(low + steps * step, 3) + round(remainder * step, 6)
    found = values(low=low, high=high, step=step)
    _assert_rises_within(found, low, high)
    assert len(found) == steps + 1
    assert all(value == round(low + i * step, 3) for i, value in enumerate(found))


@given(st.floats(1e-9, 1e9), st.floats(1.01, 100), st.integers(0, 12), st.floats(0.01, 0.99))
def test_log_ranges_hold_every_factor_within_their_bounds(
    low: float, factor: float, factors: int, remainder: float
) -> None:
    high = low * factor**factors * factor**remainder
    found = values(low=low, high=high, step=factor, log=True)
    _assert_rises_within(found, low, high)
    assert len(found) == factors + 1
    assert found == pytest.approx([low * factor**i for i in range(factors + 1)], rel=1e-11)


@given(st.floats(1e-6, 1e6), st.integers(0, 12))
def test_log_ranges_reach_a_high_that_is_a_power_of_the_factor(low: float, factors: int) -> None:
    assert len(values(low=low, high=low * 10**factors, log=True)) == factors + 1


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9), st.integers(2, 50))
def test_counts_give_as_many_values_from_bound_to_bound(low: float, width: float, count: int) -> None:
    found = values(low=low, high=low + width, count=count)
    _assert_rises_within(found, low, low + width)
    assert (len(found), found[-1]) == (count, low + width)
    assert found == pytest.approx([low + i * width / (count - 1) for i in range(count)], rel=1e-9, abs=1e-9)


@given(st.floats(1e-12, 1e12), st.floats(1.1, 1e6), st.integers(2, 50))
def test_log_counts_give_as_many_values_from_bound_to_bound(low: float, ratio: float, count: int) -> None:
    found = values(low=low, high=low * ratio, count=count, log=True)
    _assert_rises_within(found, low, low * ratio)
    assert (len(found), found[-1]) == (count, low * ratio)
    assert found == pytest.approx([low * ratio ** (i / (count - 1)) for i in range(count)], rel=1e-9)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    st.none() | st.integers(1, 100),
    st.booleans(),
)
def test_any_range_is_refused_or_stays_within_its_bounds(
    low: float, high: float, step: float | None, count: int | None, log: bool
) -> None:
    try:
        axis = Range(low=low, high=high, step=step, count=count, log=log)
    except ValidationError:
        return
    found = axis.values()
    assert len(found) == axis.size() <= MAXIMUM_VALUES
    assert all(low <= value <= high for value in found)
    assert found == sorted(found)
