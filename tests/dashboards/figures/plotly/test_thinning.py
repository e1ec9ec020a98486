"""Thinned curves keep what the eye would see."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dashboards.figures.plotly.thinning import thin

VALUES = st.lists(st.one_of(st.floats(), st.integers(0, 5).map(float)), max_size=300)


@given(VALUES, st.integers(0, 60))
def test_at_most_so_many_points_and_all_that_are_not_finite(values: list[float], most: int) -> None:
    found = thin(values, most)
    assert list(found.kept) == sorted(set(found.kept))
    assert set(found.kept) <= set(range(len(values)))
    assert found.not_finite == tuple(i for i, value in enumerate(values) if not math.isfinite(value))
    assert set(found.not_finite) <= set(found.kept)
    assert len(found.kept) <= max(most, len(found.not_finite) + 4)


@given(VALUES, st.integers(4, 60))
def test_extremes_and_ends_stay(values: list[float], most: int) -> None:
    kept = [values[i] for i in thin(values, most).kept if math.isfinite(values[i])]
    finite = [value for value in values if math.isfinite(value)]
    if finite:
        assert (min(kept), max(kept)) == (min(finite), max(finite))
        assert (kept[0], kept[-1]) == (finite[0], finite[-1])


@given(VALUES)
def test_short_curves_stay_whole(values: list[float]) -> None:
    assert thin(values, len(values)).kept == tuple(range(len(values)))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=50, max_size=300), st.integers(6, 40))
def test_each_stretch_keeps_its_peaks(values: list[float], most: int) -> None:
    kept = set(thin(values, most).kept)
    spans = (most - 2) // 2
    if len(values) > most:
        for number in range(spans):
            span = range(number * len(values) // spans, (number + 1) * len(values) // spans)
            seen = [values[i] for i in span if i in kept]
            assert (min(seen), max(seen)) == (min(values[i] for i in span), max(values[i] for i in span))
