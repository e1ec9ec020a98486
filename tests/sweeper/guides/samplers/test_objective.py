"""The value of a trial: the area where it counts, and otherwise worse the farther it is from counting."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sweeper.guides.samplers.objective import objective_values
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate


def trial(name: str, area: float | None, loss: float | None, **fields: Any) -> Candidate:
    shared = {"parameters": {"workers": 1}, "state": TrialState.COMPLETED, "finite": True, "images": 100}
    return Candidate(trial=name, area=area, minimum_loss=loss, **{**shared, **fields})


def values(*candidates: Candidate, threshold: float | None = 1.0, **options: Any) -> dict[str, float]:
    return objective_values(candidates, threshold, {c.trial: 100 for c in candidates}, **options)


def test_the_smaller_area_of_the_qualified_has_the_smaller_value_and_the_unqualified_come_after_all() -> None:
    found = values(
        trial("best", 2.0, 0.5), trial("good", 4.0, 1.0), trial("near", 1.0, 1.1), trial("far", 1.0, 2.0),
        trial("apart", 9.0, math.nan, state=TrialState.DIVERGED, finite=False),
    )  # fmt: skip
    assert found == pytest.approx(
        {
            "best": math.log(2),
            "good": math.log(4),
            "near": math.log(4 * 1.1),
            "far": math.log(4 * 2),
            "apart": math.log(4 * 2 * 2),
        }
    )


def test_before_anything_qualifies_the_losses_alone_tell_the_way() -> None:
    found = values(trial("far", 1.0, 3.0), trial("near", 9.0, 1.5))
    assert found == pytest.approx({"far": math.log(3), "near": math.log(1.5)})
    assert values(trial("only", None, None)) == {"only": math.log(2)}


def test_a_pruned_trial_counts_as_what_it_would_have_come_to_and_never_beats_the_best() -> None:
    pruned = {"state": TrialState.PRUNED}
    found = values(
        trial("best", 2.0, 0.5), trial("half", 3.0, 2.0, images=50, **pruned), trial("small", 1.0, 2.0, **pruned),
        trial("unknown", 3.0, 2.0, images=None, **pruned),
    )  # fmt: skip
    assert found == pytest.approx(
        {"best": math.log(2), "half": math.log(6), "small": math.log(2), "unknown": math.log(2)}
    )


def test_what_tells_nothing_has_no_value() -> None:
    names = ("pending", "running", "failed", "cancelled")
    untold = [trial(name, 1.0, 0.5, state=TrialState(name)) for name in names]
    assert values(*untold, trial("shared", None, 0.5, oversubscribed=True)) == {}


def test_relative_values_count_from_the_best_of_the_group() -> None:
    found = values(trial("best", 200.0, 0.5), trial("good", 400.0, 0.5), relative=True)
    assert found == pytest.approx({"best": 0.0, "good": math.log(2)})
    assert values(trial("far", 1.0, 3.0), relative=True) == pytest.approx({"far": math.log(3)})


def test_negative_losses_leave_finite_values_in_the_same_order() -> None:
    found = values(trial("best", -3.0, -1.0), trial("good", 4.0, -0.5), trial("bad", 4.0, 0.5), threshold=0.0)
    assert found["best"] < found["good"] < found["bad"] < math.inf
    assert values(trial("zero", 0.0, 0.0), trial("one", 1.0, 0.0), threshold=None) == {"zero": 0.0, "one": 1.0}
