"""JSON from databases: the values that Python's own decoder gives, of whatever it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.store.json_texts import all_decoded, decoded

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    text = json.dumps(value)
    assert repr(decoded(text)) == repr(decoded(text.encode())) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    ["[18446744073709551616, -9223372036854775809]", '"\\ud800"', "NaN", "[-Infinity, 1e400]", '{"a": 1, "a": 2}'],
)
def test_what_other_decoders_refuse_or_round_is_read_as_well(text: str) -> None:
    assert repr(decoded(text)) == repr(json.loads(text))
    assert repr(all_decoded([text, "1.5", text])) == repr([json.loads(text), 1.5, json.loads(text)])


def test_no_texts_have_no_values() -> None:
    assert all_decoded([]) == []
