"""The exact bound: what it stops, and what it must not."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import AreaBound
from sweeper.ranking.curve import LossPoint, area, summarize

BEST = [LossPoint(10 * n, 320 * n, float(n), loss) for n, loss in enumerate([2.0, 1.5, 1.0, 0.5], 1)]  # area 5.75


def candidate(trial: str, points: list[LossPoint], over: str = "seconds", **parameters: Any) -> Candidate:
    summary = summarize(points)
    state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
    where = {"workers": 1, **parameters}
    return Candidate(trial, where, state, summary.finite, area(points, over), summary.minimum_loss)


def pruner(over: str = "seconds", floor: float = 0.0, threshold: float | None = 1.0) -> AreaBound:
    made = AreaBound(threshold, over, ("workers",), floor)
    made.completed(candidate("best", BEST, over))
    return made


def stopped_at(made: AreaBound, points: list[LossPoint], steps: int | None = 40, **parameters: Any) -> int | None:
    """After how many points a trial is stopped; None where it runs to its end."""
    images = None if steps is None else 32 * steps
    made.begin("new", {"workers": 1, **parameters}, steps, images)
    return next((n for n, point in enumerate(points, 1) if made.point("new", point)), None)


def flat(loss: float, points: int = 4, pace: float = 1.0) -> list[LossPoint]:
    return [LossPoint(10 * n, 320 * n, pace * n, loss) for n in range(1, points + 1)]


def test_a_trial_is_stopped_once_its_area_exceeds_the_best_of_its_group() -> None:
    assert area(BEST) == 5.75
    assert stopped_at(pruner(), flat(1.8)) == 4  # areas 1.8, 3.6, 5.4, 7.2
    assert stopped_at(pruner(), flat(4.0)) == 2
    assert stopped_at(pruner(), flat(1.2)) is None
    assert stopped_at(pruner(), flat(4.0), workers=2) is None


def test_the_reason_names_the_rival_and_both_areas() -> None:
    made = pruner()
    made.begin("new", {"workers": 1}, None, None)
    assert made.point("new", flat(4.0)[0]) is None
    hopeless = made.point("new", flat(4.0)[1])
    assert str(hopeless) == "its area will be 8 at least, and trial best has 5.75"


def test_an_equal_area_may_still_win() -> None:
    assert stopped_at(pruner(), BEST) is None


@pytest.mark.parametrize("over", ["seconds", "images", "steps"])
def test_what_is_surely_still_to_come_counts(over: str) -> None:
    # Over images: 2.5 + 3 x 0.5, then 5.0 + 2 x 0.5, against 5.75, in units of 320; seconds have no pace so soon.
    assert stopped_at(pruner(over, floor=0.5), flat(2.5)) == (3 if over == "seconds" else 2)
    assert stopped_at(pruner(over), flat(2.5)) == 3
    assert stopped_at(pruner(over, floor=0.5), flat(1.2)) is None
    assert stopped_at(pruner(over, floor=0.5), flat(2.5), steps=None) == 3  # nobody knows how much is still to come


def test_over_seconds_the_rest_goes_at_the_fastest_pace_of_several_windows() -> None:
    made = pruner(floor=0.5)

    def ten(loss: float) -> list[LossPoint]:
        return [LossPoint(10 * n, 320 * n, 0.5 * n, loss) for n in range(1, 11)]

    # At 5 windows 5.0 are there, and 50 steps of 0.05 s x 0.5 to come, which makes 6.25.
    assert stopped_at(made, ten(2.0), steps=100) == 5
    # At 2 windows it would be 4.0 + 80 x 0.05 x 0.5 = 6.0: another trial of its kind has shown how fast steps go, ...
    assert stopped_at(made, ten(4.0), steps=100, learning_rate=0.5) == 2
    # ... and of one that differs in more nothing is known of the pace so soon.
    assert stopped_at(made, ten(4.0), steps=100, batch_size=64) == 3
    faster = [*ten(2.0)[:2], *(LossPoint(10 * n, 320 * n, 1.0 + 0.05 * (n - 2), 2.0) for n in range(3, 11))]
    assert stopped_at(made, faster, steps=100) is None


def test_who_does_not_qualify_is_nobodys_rival() -> None:
    made = AreaBound(1.0, "seconds", ("workers",))
    made.completed(candidate("high", flat(1.1)))
    made.completed(candidate("wild", [*flat(0.1)[:2], LossPoint(30, 960, 3.0, math.nan)]))
    cut_off = candidate("pruned", flat(0.5))._replace(state=TrialState.PRUNED)
    made.completed(cut_off)
    assert stopped_at(made, flat(100.0)) is None
    made.completed(candidate("good", flat(0.9)))
    assert stopped_at(made, flat(100.0)) == 1
    assert stopped_at(AreaBound(None, "seconds", ("workers",)), flat(100.0)) is None


def test_another_attempt_begins_anew() -> None:
    made = pruner()
    assert stopped_at(made, flat(1.8)[:3]) is None
    assert stopped_at(made, flat(1.2)) is None


def test_losses_that_are_no_numbers_stop_nothing() -> None:
    assert stopped_at(pruner(), [LossPoint(10, 320, 1.0, math.inf), LossPoint(20, 640, 2.0, math.nan)]) is None


def test_points_without_images_have_no_place_over_images() -> None:
    assert stopped_at(pruner("images"), [LossPoint(n, None, float(n), 1e9) for n in range(1, 5)]) is None


def test_a_negative_loss_ends_the_pruning_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    made = pruner()
    assert stopped_at(made, [LossPoint(10, 320, 1.0, -0.1)]) is None
    assert stopped_at(made, flat(100.0)) is None
    assert caplog.messages == ["no trial is pruned from now on: a loss is negative (-0.1), and areas may shrink"]


def test_a_loss_below_the_floor_lowers_it_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    made = pruner(floor=1.2)
    assert caplog.messages == [
        "a loss of 0.5 is below prune.floor, 1.2, which follows the losses now; winners may have been pruned"
    ]
    assert made.floor == 0.5
    assert stopped_at(made, flat(0.4)) is None
    assert (made.floor, len(caplog.messages)) == (0.4, 1)
