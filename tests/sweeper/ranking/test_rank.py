"""Who qualifies, who wins, and in which order the groups come."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, best_per_group, qualifies, rank, sort_key
from sweeper.ranking.curve import LossPoint, summarize


def candidate(area: float | None = 10.0, minimum: float | None = 1.0, trial: str = "t", **parameters: Any) -> Candidate:
    """A complete and finite trial."""
    return Candidate(trial, {"workers": 1, **parameters}, TrialState.COMPLETED, True, area, minimum)


def of_curve(*losses: float, state: TrialState = TrialState.COMPLETED) -> Candidate:
    summary = summarize([LossPoint(i, i, float(i), loss) for i, loss in enumerate(losses)])
    return Candidate("t", {"workers": 1}, state, summary.finite, summary.area_seconds, summary.minimum_loss)


def test_a_minimum_at_the_threshold_qualifies() -> None:
    assert qualifies(of_curve(2.0, 1.8), 1.8)
    assert not qualifies(of_curve(2.0, math.nextafter(1.8, 2)), 1.8)


def test_the_minimum_counts_and_not_the_last_loss() -> None:
    assert qualifies(of_curve(2.0, 1.5, 3.0), 1.8)
    assert best_per_group([of_curve(2.0, 1.5, 3.0)], None)[0].best_minimum_loss == 1.5


def test_without_a_threshold_every_complete_and_finite_curve_qualifies() -> None:
    assert qualifies(of_curve(200.0, 100.0), None)
    assert not qualifies(of_curve(200.0, 100.0, state=TrialState.PRUNED), None)


@pytest.mark.parametrize("threshold", [None, 1.8])
def test_curves_that_cannot_win(threshold: float | None) -> None:
    assert not qualifies(of_curve(1.0), threshold), "one point has no area"
    assert not qualifies(of_curve(), threshold)
    assert not qualifies(of_curve(1.0, 0.5, math.nan), threshold)
    assert not qualifies(of_curve(1.0, math.inf, 0.5), threshold)
    assert not qualifies(candidate(area=math.nan), threshold)
    assert not qualifies(candidate(area=math.inf), threshold)
    assert not qualifies(candidate(area=None), threshold)
    assert not qualifies(candidate()._replace(finite=False), threshold)


@pytest.mark.parametrize("minimum", [None, math.nan])
def test_a_minimum_that_is_no_number_meets_no_threshold(minimum: float | None) -> None:
    assert not qualifies(candidate(minimum=minimum), 1.8)


def test_a_run_that_ended_early_never_wins_though_its_area_is_small() -> None:
    early = candidate(area=0.001, minimum=0.1, trial="early")._replace(state=TrialState.CANCELLED)
    (group,) = best_per_group([early, candidate(area=5.0)], 1.8)
    assert group.winner == candidate(area=5.0)
    (alone,) = best_per_group([early], 1.8)
    assert alone.winner is None


def test_equal_areas_go_by_workers_batch_size_rate_and_id() -> None:
    order = [
        candidate(trial="9", workers=1, batch_size=512, learning_rate=0.9),
        candidate(trial="8", workers=2, batch_size=16, learning_rate=0.9),
        candidate(trial="7", workers=2, global_batch_size=32, learning_rate=0.9),
        candidate(trial="6", workers=2, batch_size=128, learning_rate=0.1),
        candidate(trial="4", workers=2, batch_size=128, learning_rate=0.2),
        candidate(trial="5", workers=2, batch_size=128, learning_rate=0.2),
        candidate(trial="2", workers=10, batch_size=128, learning_rate=math.nan),
        candidate(trial="3", workers=10, batch_size=128),
        candidate(trial="1", workers=10),
    ]
    for seed in range(20):
        assert rank(random.Random(seed).sample(order, len(order)), None) == order


def test_groups_come_in_numeric_order_also_those_that_nobody_won() -> None:
    found = best_per_group(
        [
            candidate(workers=16),
            candidate(workers=2, minimum=2.5),
            candidate(workers=2, minimum=2.0),
            candidate(workers=2, minimum=None),
            candidate(workers=2, minimum=math.inf),
            candidate(workers=1, minimum=None, area=None),
        ],
        1.8,
    )
    assert [(group.key, group.trials, len(group.ranking)) for group in found] == [
        ({"workers": 1}, 1, 0),
        ({"workers": 2}, 4, 0),
        ({"workers": 16}, 1, 1),
    ]
    assert [group.best_minimum_loss for group in found] == [None, 2.0, 1.0]
    assert [group.winner is None for group in found] == [True, True, False]


@pytest.mark.parametrize("minimum", [math.nan, math.inf, -math.inf, None])
def test_a_best_minimum_is_a_finite_number_or_there_is_none(minimum: float | None) -> None:
    (alone,) = best_per_group([candidate(minimum=minimum)], 1.8)
    (both,) = best_per_group([candidate(minimum=minimum), candidate(minimum=2.5)], 1.8)
    assert (alone.best_minimum_loss, both.best_minimum_loss) == (None, 2.5)


def test_groups_are_by_any_parameters_or_by_none() -> None:
    trials = [
        Candidate(
            f"{average}{workers}",
            {"exchange.average": average, "workers": workers},
            TrialState.COMPLETED,
            True,
            area,
            1.0,
        )
        for average, workers, area in (("weights", 2, 1.0), ("gradients", 1, 2.0), ("gradients", 2, 3.0))
    ]
    by_both = best_per_group(trials, None, ("exchange.average", "workers"))
    assert [tuple(group.key.values()) for group in by_both] == [("gradients", 1), ("gradients", 2), ("weights", 2)]
    (everyone,) = best_per_group(trials, None, ())
    assert (everyone.key, everyone.trials, everyone.winner) == ({}, 3, trials[0])
    assert best_per_group([], None) == []


def test_a_parameter_that_a_trial_does_not_have_makes_a_group_of_its_own_at_the_end() -> None:
    found = best_per_group([candidate(), candidate(momentum=0.9), candidate(momentum=0.5)], None, ("momentum",))
    assert [group.key["momentum"] for group in found] == [0.5, 0.9, None]


def test_numbers_sort_before_names_and_what_is_no_number_last() -> None:
    values = [math.nan, "b", 10, None, -math.inf, "a", 9.5, True, math.inf, False]
    ordered = sorted(values, key=sort_key)
    assert ordered[:6] == [-math.inf, 9.5, 10, math.inf, "a", "b"]
    assert sorted(map(str, ordered[6:])) == ["False", "None", "True", "nan"]


_NUMBERS = st.none() | st.floats() | st.sampled_from([0.5, 1.0])


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    """Trials of which some end early, diverge, or tie."""
    count = draw(st.integers(0, 12))
    return [
        Candidate(
            trial=f"t{i:02d}",
            parameters={
                "workers": draw(st.sampled_from([1, 2, 4])),
                "batch_size": draw(st.sampled_from([16, 32])),
                "learning_rate": draw(st.sampled_from([0.1, 0.2])),
            },
            state=draw(st.sampled_from([TrialState.COMPLETED, TrialState.FAILED])),
            finite=draw(st.booleans()),
            area=draw(_NUMBERS),
            minimum_loss=draw(_NUMBERS),
        )
        for i in range(count)
    ]


@given(candidates(), st.none() | st.floats(-10, 10))
def test_the_winner_has_the_smallest_area_of_the_qualified(trials: list[Candidate], threshold: float | None) -> None:
    for group in best_per_group(trials, threshold):
        members = [t for t in trials if t.parameters["workers"] == group.key["workers"]]
        qualified = [t for t in members if qualifies(t, threshold)]
        assert (group.trials, len(group.ranking)) == (len(members), len(qualified))
        assert group.winner is None if not qualified else group.winner in qualified
        if group.winner is not None:
            assert group.winner.area == min(t.area for t in qualified if t.area is not None)


@given(candidates(), st.randoms(), st.none() | st.floats(-10, 10))
def test_the_order_of_arrival_does_not_matter(
    trials: list[Candidate], random_: random.Random, threshold: float | None
) -> None:
    shuffled = random_.sample(trials, len(trials))
    assert rank(shuffled, threshold) == rank(trials, threshold)
    assert [g.ranking for g in best_per_group(shuffled, threshold)] == [
        g.ranking for g in best_per_group(trials, threshold)
    ]


@given(candidates(), st.floats(-10, 10), st.floats(-10, 10))
def test_a_higher_threshold_only_lets_more_in(trials: list[Candidate], one: float, other: float) -> None:
    strict = {t.trial for t in rank(trials, min(one, other))}
    assert strict <= {t.trial for t in rank(trials, max(one, other))} <= {t.trial for t in rank(trials, None)}


@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), max_size=8), st.randoms())
def test_parameter_values_of_all_kinds_have_one_order(values: list[Any], random_: random.Random) -> None:
    ordered = sorted(random_.sample(values, len(values)), key=sort_key)
    assert [sort_key(value) for value in ordered] == [sort_key(value) for value in sorted(values, key=sort_key)]
