"""Intervals and comparisons over seeds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.confidence import compare, holm, interval, within_reach
from sweeper.ranking.settings import as_one


def setting(name: str, areas: Sequence[float], first_seed: int = 0) -> Candidate:
    return as_one(
        [
            Candidate(f"{name}-{s}", {"workers": 1, "rate": name, "seed": s}, TrialState.COMPLETED, True, area, 1.0)
            for s, area in enumerate(areas, first_seed)
        ]
    )


def test_the_interval_is_students() -> None:
    # 3 degrees of freedom: 3.182446 times the standard error.
    low, high = interval([1.0, 2.0, 3.0, 4.0]) or (0.0, 0.0)
    width = 3.182446305284263 * np.std([1, 2, 3, 4], ddof=1) / 2
    assert [low, high] == pytest.approx([2.5 - width, 2.5 + width])
    wider = interval([1.0, 2.0, 3.0, 4.0], 0.99)
    assert wider
    assert wider[0] < low < high < wider[1]


def test_one_area_has_no_interval_and_equal_ones_have_no_width() -> None:
    assert interval([1.0]) is None
    assert interval([]) is None
    assert interval([0.1, 0.1, 0.1]) == (0.1, 0.1)


def test_an_interval_of_areas_that_are_not_below_zero_is_not_either() -> None:
    low, high = interval([1.0, 3.0]) or (-1.0, -1.0)
    assert low == 0.0
    assert high > 3.0
    below, _ = interval([-1.0, 3.0]) or (0.0, 0.0)
    assert below < -1.0


def test_within_reach_is_up_to_where_a_setting_that_spreads_alike_is_not_told_apart() -> None:
    areas = [1.0, 1.02, 0.98, 1.01]
    reach = within_reach(areas, 0.95, looks=3)
    distance = reach - np.mean(areas)
    differences = distance + math.sqrt(2) * (np.array(areas) - np.mean(areas))
    assert stats.ttest_1samp(differences, 0).pvalue == pytest.approx(0.05 / 3)
    assert within_reach([1.0]) == math.inf
    assert within_reach([2.0, 2.0]) == 2.0
    assert within_reach(areas, 0.95) < reach < within_reach(areas, 0.99, looks=3)


def test_seeds_that_are_shared_are_paired() -> None:
    # Differences of the logarithms: 0.1, 0.2 and 0.3, so t = 0.2 / (0.1 / sqrt 3) at 2 degrees of freedom.
    best = setting("a", [1.0, 2.0, 4.0])
    other = setting("b", [math.exp(0.1), 2 * math.exp(0.2), 4 * math.exp(0.3)])
    (found,) = compare(best, [other])
    assert found
    assert found.method == "paired t-test on logarithms of the areas of 3 seeds"
    assert found.p_value == pytest.approx(0.0741799, abs=1e-6)
    assert (found.adjusted, found.compared, found.separated) == (found.p_value, 1, False)
    (within_reach,) = compare(best, [other], level=0.9)
    assert within_reach
    assert within_reach.separated


def test_seeds_that_are_not_shared_are_compared_by_welch() -> None:
    best, other = setting("a", [1.0, 1.1, 1.05]), setting("b", [2.0, 2.2, 2.1, 1.9], first_seed=3)
    (found,) = compare(best, [other])
    assert found
    assert found.method == "Welch's t-test on logarithms of the areas of 3 and 4 seeds"
    assert found.separated
    (shared,) = compare(best, [setting("b", [2.0, 2.2, 2.1, 1.9], first_seed=1)])
    assert shared
    assert shared.method.endswith("of 2 seeds")


def test_too_few_seeds_tell_nothing() -> None:
    alone = Candidate("t", {"workers": 1}, TrialState.COMPLETED, True, 1.0, 1.0)
    assert compare(alone, [alone._replace(area=2.0)]) == [None]
    assert compare(setting("a", [1.0, 2.0]), [setting("b", [5.0])]) == [None]
    assert compare(alone, []) == []


def test_p_values_are_corrected_for_those_compared_and_for_looks() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    best = setting("a", [1.0, 1.01, 0.99])
    others = [setting("b", [1.1, 1.12, 1.1]), setting("c", [1.3, 1.31, 1.2])]
    alone, both, often = compare(best, others[:1])[0], compare(best, others)[0], compare(best, others[:1], looks=4)[0]
    assert alone
    assert both
    assert often
    assert (alone.p_value, both.compared) == (both.p_value, 2)
    assert both.adjusted > alone.adjusted
    assert often.adjusted == pytest.approx(min(1.0, 4 * alone.p_value))


def test_areas_without_logarithms_and_without_differences() -> None:
    best = setting("a", [-1.0, -1.2, -1.1])
    (found,) = compare(best, [setting("b", [2.0, 2.1, 2.5])])
    assert found
    assert found.method == "paired t-test on the areas of 3 seeds"
    assert found.separated
    (same,) = compare(best, [best])
    assert same
    assert same.p_value == 1.0
    (always,) = compare(setting("a", [1.0, 1.0]), [setting("b", [2.0, 2.0])])
    assert always
    assert always.separated


def test_settings_that_are_alike_are_rarely_told_apart() -> None:
    """Though the best of them was found by the same areas; 95 % of the time at least, for any number of them."""
    for count in (2, 3, 8):
        wrong = 0
        for seed in range(300):
            order = random.Random(seed)
            alike = [setting(str(n), [math.exp(order.gauss(0, 0.02)) for _ in range(4)]) for n in range(count)]
            best, *others = sorted(alike, key=lambda one: one.area or 0.0)
            wrong += any(one is not None and one.separated for one in compare(best, others)[:1])
        assert wrong <= 25, count  # 15 expected of two, fewer of more


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ordered = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in ordered] == sorted(adjusted)
