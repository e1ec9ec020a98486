"""Trials of one curve share a run: who runs, who is derived, and that winners stay the grid's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.recorded import RecordedTrial, grid_winners, read_recorded, replay
from benchmarks.search import parameters_of, prune_area, prune_forecast, share
from sweeper.guides.base import Enough, Guide
from sweeper.guides.shared_curves import SharedCurves
from sweeper.plan.equivalence import Equivalence
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint

RATES = (0.1, 0.2)


def grid(order: random.Random, points: int = 12) -> dict[str, RecordedTrial]:
    """Workers 1, 2, 4 and batches 8, 16, 32; a curve for each global batch and rate, a pace for each cell."""
    curves = {(whole, rate): losses(order, points) for whole in (8, 16, 32, 64, 128) for rate in RATES}
    trials = {}
    for workers in (1, 2, 4):
        for batch in (8, 16, 32):
            pace = order.uniform(0.5, 2.0)
            for rate in RATES:
                steps = 1024 // (workers * batch)
                curve = [
                    LossPoint(n * steps, 1024 * n, pace * n * steps, loss)
                    for n, loss in enumerate(curves[workers * batch, rate], 1)
                ]
                parameters = {"workers": workers, "batch_size": batch, "learning_rate": rate}
                trials[f"{workers}-{batch}-{rate}"] = RecordedTrial(parameters, curve)
    return trials


def losses(order: random.Random, points: int) -> list[float]:
    start, fall = order.uniform(1.0, 3.0), order.uniform(0.0, 0.4)
    found = [start * math.exp(-fall * n) * order.uniform(0.95, 1.05) for n in range(points)]
    if order.random() < 0.15:
        found[order.randrange(points)] = math.nan
    return found


@pytest.mark.parametrize("together", [1, 3, 8])
def test_with_shared_curves_the_winners_are_the_grids_for_less(together: int) -> None:
    for seed in range(60):
        order = random.Random(seed)
        sweep, threshold = grid(order), order.choice([None, 0.8, 1.5])
        true, whole = grid_winners(sweep, threshold), sum(one.run_seconds for one in sweep.values())
        for name, make in (("none", lambda *_: Guide()), ("area", prune_area)):
            found = replay(sweep, share(sweep, threshold, make), threshold, together, seed)
            assert found.winners == true, (seed, name)
            assert found.spent < whole


@pytest.mark.long
def test_a_recorded_sweep_keeps_its_winners_for_a_twelfth(recorded_data: Callable[[str], Path]) -> None:
    sweep = read_recorded(recorded_data("recorded-sweep"))
    found = replay(sweep, share(sweep, 1.5, prune_forecast), 1.5, 4, seed=1)
    assert found.winners == grid_winners(sweep, 1.5)
    assert found.spent < 0.08 * sum(one.seconds for one in sweep.values())


EQUIVALENCES = {"a": Equivalence("x", "fast", 2), "b": Equivalence("x", "slow", 1), "c": Equivalence(None, "slow", 1)}
WAITING = {name: {"workers": place.workers} for name, place in EQUIVALENCES.items()}


def points(pace: float, count: int = 8, loss: float = 1.0) -> list[LossPoint]:
    return [LossPoint(n, 32 * n, pace * n, loss) for n in range(1, count + 1)]


def ended(trial: str, curve: list[LossPoint], state: TrialState = TrialState.COMPLETED) -> Candidate:
    return RecordedTrial({"workers": EQUIVALENCES[trial].workers}, curve).candidate(trial, state=state)


def run(guide: SharedCurves, trial: str, curve: list[LossPoint]) -> int | None:
    """Begin a trial; after how many points it is stopped."""
    guide.begin(trial, curve[-1].step, None)
    return next((n for n, point in enumerate(curve, 1) if guide.point(trial, point)), None)


def sharing(curves: dict[str, list[LossPoint]] | None = None) -> SharedCurves:
    return SharedCurves(Guide(), "seconds", EQUIVALENCES, lambda trial: (curves or {}).get(trial, []))


FAILED = ended("c", points(2.0), TrialState.FAILED)  # which times nothing


def rest(*without: str) -> dict[str, dict[str, int]]:
    return {name: WAITING[name] for name in WAITING if name not in without}


def test_the_most_workers_run_then_others_are_timed_and_derived() -> None:
    guide = sharing()
    assert guide.ordered(WAITING) == ["a", "c"]
    assert run(guide, "a", points(0.5, 20, loss=0.7)) is None
    assert guide.ordered(rest("a")) == ["c"]
    guide.learn([ended("a", points(0.5, 20, loss=0.7))])
    assert guide.derived(rest("a")) == {}  # the time of b's steps is not known
    assert guide.ordered(rest("a")) == ["c"]  # c has its steps, and has to run anyway
    guide.begin("c", 20, None)
    for point in points(2.0):
        assert guide.point("c", point) is None
    found = guide.derived(rest("a", "c"))
    assert found.keys() == {"b"}
    assert found["b"].source == "a"
    assert list(found["b"].points) == points(2.0, 20, loss=0.7)


def test_where_none_of_a_cell_has_to_run_one_runs_for_its_time() -> None:
    guide = sharing()
    guide.ordered(WAITING)
    run(guide, "a", points(0.5, 20, loss=0.7))
    guide.learn([ended("a", points(0.5, 20, loss=0.7)), FAILED])
    assert guide.ordered(rest("a", "c")) == ["b"]
    assert run(guide, "b", points(2.0)) == 6  # five windows
    assert isinstance(guide.point("b", points(2.0)[6]), Enough)
    assert list(guide.derived(rest("a", "c"))["b"].points) == points(2.0, 20, loss=0.7)


@pytest.mark.parametrize(("steps", "most"), [(200, 41), (None, 61)])
def test_while_steps_are_uneven_a_trial_is_timed_for_longer(steps: int | None, most: int) -> None:
    guide = sharing({"a": points(0.5, 20)})
    guide.learn([ended("a", points(0.5, 20)), FAILED])
    guide.ordered(rest("a", "c"))
    uneven = [LossPoint(n, 32 * n, n + 0.4 * (n % 2), 1.0) for n in range(1, 101)]
    guide.begin("b", steps, None)
    stopped = next(n for n, point in enumerate(uneven, 1) if guide.point("b", point))
    assert 6 < stopped <= most


def test_a_run_stops_by_its_own_verdict_and_the_others_are_judged_by_it_once_they_are_timed() -> None:
    """Of 1 worker nothing is timed when 2-8 is beaten: 1-16 waits, and is pruned by those points at its own pace."""
    sweep = {
        "2-8": RecordedTrial({"workers": 2, "batch_size": 8, "learning_rate": 0.1}, points(1.0, 40)),
        "1-16": RecordedTrial({"workers": 1, "batch_size": 16, "learning_rate": 0.1}, points(2.0, 40)),
        "2-best": RecordedTrial({"workers": 2, "batch_size": 64, "learning_rate": 0.1}, points(1.0, 10)),
        "1-best": RecordedTrial({"workers": 1, "batch_size": 64, "learning_rate": 0.1}, points(1.0, 10)),
    }
    guide = share(sweep, None, prune_area)
    guide.learn([sweep["2-best"].candidate("2-best"), sweep["1-best"].candidate("1-best")])
    waiting = {trial: one.parameters for trial, one in sweep.items() if "best" not in trial}
    assert guide.ordered(waiting) == ["2-8"]
    guide.begin("2-8", 40, None)
    stopped = next(n for n, point in enumerate(sweep["2-8"].points, 1) if guide.point("2-8", point))
    assert stopped == 11
    guide.learn([sweep["2-8"].candidate("2-8", stopped, TrialState.PRUNED)])
    left = {"1-16": waiting["1-16"]}
    assert guide.given_up(left) == {}
    assert guide.ordered(left) == ["1-16"]
    guide.begin("1-16", 40, None)
    timed = next(why for point in sweep["1-16"].points if (why := guide.point("1-16", point)))
    assert isinstance(timed, Enough)
    ((trial, reason),) = guide.given_up(left).items()
    assert trial == "1-16"
    assert reason.endswith("(by the curve of trial 2-8)")


def test_where_the_run_fails_or_is_cancelled_the_next_of_its_class_runs() -> None:
    guide = sharing({"a": points(0.5), "b": points(2.0)})
    for trial in EQUIVALENCES:
        guide.recall(trial)
    assert guide.ordered(WAITING) == ["a", "c"]
    run(guide, "a", points(0.5, 3))
    guide.learn([ended("a", points(0.5, 3), TrialState.FAILED)])
    assert guide.ordered(rest("a")) == ["b", "c"]


def test_what_ran_to_its_end_before_is_a_source_and_times_its_cell() -> None:
    curves = {"a": points(0.5, 20), "b": points(2.0)}
    guide = sharing(curves)
    guide.recall("b")
    guide.learn([ended("a", curves["a"])])
    assert list(guide.derived(rest("a"))["b"].points) == points(2.0, 20)


def test_what_shares_its_curve_with_nobody_is_never_run_for_its_time_alone() -> None:
    alone = {"c": Equivalence(None, "c", 1), "d": Equivalence(None, "d", 1)}
    guide = SharedCurves(Guide(), "seconds", alone, lambda _: [])
    both: dict[str, dict[str, int]] = {"c": {"workers": 1}, "d": {"workers": 1}}
    guide.ordered(both)
    run(guide, "c", points(0.5, 3))
    guide.learn([RecordedTrial({"workers": 1}, points(0.5, 3)).candidate("c", state=TrialState.PRUNED)])
    assert guide.ordered({"d": both["d"]}) == ["d"]
    assert run(guide, "d", points(2.0, 80)) is None


def test_what_was_derived_is_no_source_and_times_nothing() -> None:
    guide = sharing({"b": points(2.0, 20)})
    guide.learn([ended("b", points(2.0, 20))._replace(derived_from="a")])
    assert guide.derived(rest("b")) == {}
    assert guide.ordered(rest("b"))[0] == "a"


def test_a_diverged_run_makes_its_class_diverge() -> None:
    guide = sharing({"a": points(0.5), "b": points(2.0)})
    guide.recall("a")
    guide.recall("b")
    guide.ordered(WAITING)
    curve = [*points(0.5, 3), LossPoint(4, 128, 2.0, math.nan)]
    run(guide, "a", curve)
    guide.learn([ended("a", curve, TrialState.DIVERGED)])
    assert math.isnan(guide.derived(rest("a"))["b"].points[-1].loss)


def test_nobody_waits_for_a_worker_count_whose_gangs_do_not_come_up() -> None:
    guide = sharing({"a": points(0.5), "b": points(2.0)})
    guide.bar({2})
    assert guide.ordered(WAITING) == ["b", "c"]  # b is timed
    guide.recall("a")
    guide.recall("b")
    assert guide.ordered(WAITING) == ["b", "c"]  # b runs
    guide.bar(())
    assert guide.ordered(WAITING) == ["a", "c"]


def test_what_another_scheduler_runs_keeps_its_class_waiting() -> None:
    guide = sharing({"a": points(0.5), "b": points(2.0)})
    guide.recall("a")
    guide.recall("b")
    assert guide.ordered(rest("a")) == ["c"]  # a neither waits nor has ended


def test_a_run_is_pruned_only_when_all_of_its_class_are_beaten_and_takes_them_along() -> None:
    sweep = {
        "2-8": RecordedTrial({"workers": 2, "batch_size": 8, "learning_rate": 0.1}, points(1.0, 40)),
        "1-16": RecordedTrial({"workers": 1, "batch_size": 16, "learning_rate": 0.1}, points(2.0, 40)),
        "1-best": RecordedTrial({"workers": 1, "batch_size": 64, "learning_rate": 0.1}, points(1.0, 10)),
        "2-best": RecordedTrial({"workers": 2, "batch_size": 64, "learning_rate": 0.1}, points(1.0, 20)),
    }
    guide = share(sweep, None, prune_area)
    assert isinstance(guide, SharedCurves)
    for trial in ("2-8", "1-16"):
        guide.recall(trial)
    guide.learn([sweep["1-best"].candidate("1-best"), sweep["2-best"].candidate("2-best")])
    waiting = {trial: parameters for trial, parameters in parameters_of(sweep).items() if "best" not in trial}
    assert guide.ordered(waiting) == ["2-8"]  # the faster one; areas 9 and 19 are to beat
    guide.begin("2-8", 40, None)
    stopped = next(n for n, point in enumerate(sweep["2-8"].points, 1) if guide.point("2-8", point))
    assert stopped == 21  # 1-16 was beaten after 6 points, and the run goes on for 2-8
    guide.learn([sweep["2-8"].candidate("2-8", stopped, TrialState.PRUNED)])
    ((trial, reason),) = guide.given_up({"1-16": waiting["1-16"]}).items()
    assert trial == "1-16"
    assert reason.startswith("its area will be ")
    assert reason.endswith("(by the curve of trial 2-8)")


def test_a_run_that_diverged_at_once_times_nothing() -> None:
    curve = [LossPoint(1, 32, 9.0, 1.0), LossPoint(2, 64, 18.0, math.nan)]
    guide = sharing({"a": curve, "b": points(2.0)})
    guide.learn([ended("a", curve, TrialState.DIVERGED)])
    assert guide.derived(rest("a")) == {}  # b's own steps are to be timed first
    assert guide.ordered(rest("a")) == ["c"]  # by c, which has to run anyway


def test_what_another_scheduler_has_ended_is_derived_from_its_points_and_not_from_a_part_that_ran_here() -> None:
    whole = points(0.5, 40)
    guide = sharing({"a": whole, "b": points(2.0)})
    guide.recall("a")
    guide.recall("b")
    guide.ordered(WAITING)
    run(guide, "a", whole[:20])
    guide.learn([ended("a", whole)])
    assert len(guide.derived(rest("a"))["b"].points) == 40


def test_the_time_of_a_step_stays_what_runs_were_pruned_by() -> None:
    guide = sharing({"a": points(0.5), "b": points(2.0)})
    guide.recall("a")
    guide.recall("b")
    guide.ordered(WAITING)
    run(guide, "a", points(0.5, 40))
    guide.learn([ended("a", points(0.5, 40)), RecordedTrial({"workers": 1}, points(2.1, 40)).candidate("c")])
    assert guide.derived(rest("a"))["b"].points[-1].seconds == 80.0


def test_times_of_ranks_that_shared_their_cores_are_not_learnt_from_what_has_ended() -> None:
    guide = sharing({"b": points(2.0, 20)})
    guide.learn([ended("b", points(2.0, 20))._replace(oversubscribed=True)])
    assert guide.ordered(rest("b"))[0] == "a"
    guide = sharing({"a": points(0.5, 20), "b": points(2.0, 20)})
    guide.recall("a")
    guide.learn([ended("b", points(2.0, 20))._replace(oversubscribed=True)])
    assert guide.derived(rest("b")).keys() == {"a"}
