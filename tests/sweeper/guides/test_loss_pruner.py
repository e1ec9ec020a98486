"""Optuna's pruners at loss points: who is behind is stopped, whatever the batch size; what ended elsewhere counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.recorded import RecordedTrial, grid_winners, replay
from benchmarks.rivals import by_optuna
from benchmarks.search import parameters_of, synthetic
from sweeper.guides.loss_guide import LossGuide
from sweeper.guides.loss_pruner import Behind, OptunaPruner
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint, summarize

METHODS = ["median", "asha", "hyperband"]
IMAGES = 1000


def curve(loss: float, points: int = 50, images: int = IMAGES) -> list[LossPoint]:
    """A loss that falls a little, at points whose number depends on the batch size."""
    return [LossPoint(n, images * n // points, float(n), loss * (1 - 0.2 * n / points)) for n in range(1, points + 1)]


def run(pruner: OptunaPruner, trial: str, points: Sequence[LossPoint], images: int | None = IMAGES) -> Behind | None:
    """Tell a trial's points until it is stopped, and its end."""
    pruner.begin(trial, points[-1].step, images)
    behind = next(filter(None, (pruner.point(trial, point) for point in points)), None)
    state = TrialState.PRUNED if behind else TrialState.COMPLETED
    summary = summarize(points)
    pruner.ended(Candidate(trial, {}, state, True, summary.area_images, summary.minimum_loss))
    return behind


@pytest.mark.parametrize("method", METHODS)
def test_who_is_behind_is_stopped_and_who_leads_is_not(method: str) -> None:
    pruner = OptunaPruner(method, "trials")
    good = [run(pruner, f"good{number}", curve(1.0 - 0.001 * number)) for number in range(8)]
    assert good[0] is None
    bad = [run(pruner, f"bad{number}", curve(2.0, points)) for number, points in enumerate((7, 30, 50, 300, 1000) * 2)]
    stopped = [behind for behind in bad if behind]
    assert len(stopped) >= 5  # hyperband has groups of its own, some of which stop late
    assert "% of the run is too far behind others there, by the pruner " + method in str(stopped[0])
    assert run(pruner, "best", curve(0.5)) is None


@pytest.mark.parametrize("method", METHODS)
def test_losses_that_are_no_numbers_and_curves_of_one_point_stop_nothing(method: str) -> None:
    pruner = OptunaPruner(method, "trials")
    for number in range(10):
        pruner.begin(str(number), None, None)
        for loss in (math.nan, math.inf):
            assert pruner.point(str(number), LossPoint(1, None, 1.0, loss)) is None
        pruner.ended(Candidate(str(number), {}, TrialState.DIVERGED, False, None, None))
    assert run(pruner, "one", curve(1.0, 1)) is None
    assert pruner.point("unknown", LossPoint(1, None, 1.0, 1.0)) is None
    pruner.ended(Candidate("unknown", {}, TrialState.FAILED, True, None, None))


def test_commands_without_images_are_compared_by_steps() -> None:
    pruner = OptunaPruner("median", "trials")

    def told(loss: float) -> list[LossPoint]:
        return [LossPoint(n, None, float(n), loss) for n in range(1, 20)]

    assert not any(run(pruner, f"good{number}", told(1.0), None) for number in range(5))
    pruner.begin("bad", None, None)
    behind = next(filter(None, (pruner.point("bad", point) for point in told(2.0))), None)
    assert str(behind) == "its loss of 2 after 1 steps is too far behind others there, by the pruner median"


def test_another_attempt_takes_the_place_of_the_first() -> None:
    pruner = OptunaPruner("median", "trials")
    for number in range(5):
        pruner.begin(str(number), None, IMAGES)
        pruner.point(str(number), LossPoint(1, 500, 1.0, 0.001))  # fails then
        assert run(pruner, str(number), curve(1.0)) is None
    assert run(pruner, "like them", curve(0.99)) is None


@pytest.mark.parametrize("method", METHODS)
def test_it_spends_less_than_the_grid_in_groups_that_do_not_compete(method: str) -> None:
    sweep = synthetic(60)
    found = replay(sweep, by_optuna(sweep, method), 1.5, 4, seed=0)
    assert found.spent < 0.9 * sum(one.run_seconds for one in sweep.values())
    assert found.winners.keys() == grid_winners(sweep, 1.5).keys()


def guide(sweep: Mapping[str, RecordedTrial], ended: Sequence[str]) -> LossGuide:
    """One that is told what ended before it was made."""
    made = LossGuide("median", parameters_of(sweep), "seconds", ("workers",), lambda trial: sweep[trial].points)
    made.learn([sweep[trial].candidate(trial) for trial in ended])
    return made


def first_stop(decides: LossGuide, trial: str, one: RecordedTrial) -> int | None:
    decides.begin(trial, one.points[-1].step, one.points[-1].images)
    return next((n for n, point in enumerate(one.points) if decides.point(trial, point)), None)


def test_what_ended_before_a_resume_counts_as_if_it_had_run_here() -> None:
    def trial(workers: int, loss: float) -> RecordedTrial:
        return RecordedTrial({"workers": workers}, curve(loss))

    sweep: dict[str, RecordedTrial] = {f"good{number}": trial(1, 1.0) for number in range(6)}
    sweep |= {"bad": trial(1, 2.0), "other": trial(2, 2.0)}
    good = [name for name in sweep if name.startswith("good")]
    assert first_stop(guide(sweep, good), "bad", sweep["bad"]) is not None
    assert first_stop(guide(sweep, good[:2]), "bad", sweep["bad"]) is None
    assert first_stop(guide(sweep, good), "other", sweep["other"]) is None  # alone in its group
    later = guide({name: sweep[name] for name in good}, good)
    waiting: dict[str, Mapping[str, Any]] = {"bad": sweep["bad"].parameters}
    assert later.ordered(waiting) == ["bad"]
    assert first_stop(later, "bad", sweep["bad"]) is not None
