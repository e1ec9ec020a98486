"""JSON that keeps every value, and that every program can read."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.interchange.json_text import dump, load, number_words

_KEYS = st.sampled_from(["$number", "is", "a", "日本"]) | st.text()
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_every_value_comes_back(value: Any) -> None:
    text = dump(value)
    assert "\n" not in text
    text.encode()
    assert repr(load(text)) == repr(value)


@given(VALUES)
def test_any_program_reads_it(value: Any) -> None:
    def refuse(word: str) -> Any:
        raise AssertionError(word)

    json.loads(dump(value), parse_constant=refuse)


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert load(dump("\ud800 日")) == "\ud800 日"
    dump("\ud800").encode()


def test_columns_of_numbers_have_words() -> None:
    assert number_words([1.5, math.nan, math.inf, -math.inf]) == [1.5, "NaN", "Infinity", "-Infinity"]


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        load("{")
