"""The guarantee: whatever the order and whoever runs beside whom, the winners are the grid's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.recorded import RecordedTrial, Sweep, grid_winners, read_recorded, replay
from benchmarks.search import parameters_of, prune_area, prune_forecast, share, synthetic
from sweeper.guides import AreaGuide, Guide
from sweeper.guides.forecast_guide import ForecastGuide
from sweeper.guides.order import BestFirst, coordinates_of
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint


def made_up(order: random.Random) -> dict[str, RecordedTrial]:
    """A sweep of curves that fall, stay, rise, jump, end early or diverge; some alike to the last bit."""
    trials: dict[str, RecordedTrial] = {}
    for number in range(order.randint(1, 14)):
        parameters = {"workers": order.choice([1, 2]), "batch_size": order.choice([8, 16]), "learning_rate": number + 1}
        if trials and order.random() < 0.15:
            other = order.choice(list(trials.values()))
            trials[f"t{number}"] = RecordedTrial({**parameters, "workers": other.parameters["workers"]}, other.points)
            continue
        trials[f"t{number}"] = RecordedTrial(parameters, curve(order))
    return trials


def curve(order: random.Random) -> list[LossPoint]:
    length = order.choice([1, 2, 3, 8, 20])
    pace = order.choice([0.5, 1.0, 2.0])
    kind = order.choice(["falls", "constant", "rises", "jumps", "diverges"])
    loss, points = order.uniform(0.2, 3.0), []
    for n in range(1, length + 1):
        if kind == "falls":
            loss *= order.uniform(0.7, 1.0)
        elif kind == "rises":
            loss *= 1.1
        elif kind == "jumps":
            loss = order.uniform(0.0, 3.0)
        elif kind == "diverges" and n == length:
            loss = order.choice([math.nan, math.inf])
        points.append(LossPoint(n, 32 * n, pace * n, loss))
    return points


def lowest(sweep: Sweep) -> float:
    return min((p.loss for one in sweep.values() for p in one.points if math.isfinite(p.loss)), default=0.0)


@pytest.mark.parametrize("with_floor", [False, True])
def test_the_winners_are_the_grids_in_a_thousand_random_sweeps_and_orders(with_floor: bool) -> None:
    pruned = 0
    for seed in range(1000):
        order = random.Random(seed)
        sweep, threshold = made_up(order), order.choice([None, 0.5, 1.5])
        guide = prune_area(sweep, threshold, lowest(sweep) if with_floor else 0.0)
        found = replay(sweep, guide, threshold, order.randint(1, 6), seed)
        assert found.winners == grid_winners(sweep, threshold), seed
        assert found.spent <= sum(one.run_seconds for one in sweep.values()) + 1e-9
        pruned += found.spent < sum(one.run_seconds for one in sweep.values()) - 1e-9
    assert pruned > 300


def repeated(order: random.Random, repeats: int) -> dict[str, RecordedTrial]:
    """Settings of as many seeds, or some of one more, whose curves differ a little or a lot; some alike."""
    trials: dict[str, RecordedTrial] = {}
    for number in range(order.randint(1, 8)):
        setting = {"workers": order.choice([1, 2]), "batch_size": order.choice([8, 16]), "learning_rate": number + 1}
        common, differ = curve(order), order.random() < 0.3
        for seed in range(repeats + (order.random() < 0.1)):
            points = curve(order) if differ else [shaken(order, point) for point in common]
            if trials and order.random() < 0.1:
                points = list(order.choice(list(trials.values())).points)
            trials[f"t{number}-{seed}"] = RecordedTrial({**setting, "seed": seed}, points)
    return trials


def shaken(order: random.Random, point: LossPoint) -> LossPoint:
    loss = point.loss * order.choice([1.0, order.uniform(0.9, 1.1)])
    return LossPoint(point.step, point.images, point.seconds * 1.0, loss)


@pytest.mark.parametrize("over", ["seconds", "dollars"])
@pytest.mark.parametrize("with_floor", [False, True])
def test_with_repeats_the_winners_by_their_mean_are_the_grids(with_floor: bool, over: str) -> None:
    """The same 1,000 times; over dollars in one group, of workers whose seconds differ in price."""
    pruned = 0
    group_by, rate = (("workers",), None) if over == "seconds" else ((), 3.6)
    for seed in range(1000 if over == "seconds" else 300):
        order = random.Random(seed)
        repeats = order.randint(2, 4)
        sweep, threshold = repeated(order, repeats), order.choice([None, 0.5, 1.5])
        floor = lowest(sweep) if with_floor else 0.0
        guide = AreaGuide(parameters_of(sweep), threshold, over, group_by, floor, repeats=repeats, rate=rate)
        found = replay(sweep, guide, threshold, order.randint(1, 6), seed, group_by, repeats, rate)
        assert found.winners == grid_winners(sweep, threshold, group_by, repeats, rate), seed
        pruned += found.spent < sum(one.run_seconds for one in sweep.values()) - 1e-9
    assert pruned > 100


def test_a_recorded_sweep_keeps_its_winners_for_less(recorded_data: Callable[[str], Path]) -> None:
    sweep = read_recorded(recorded_data("recorded-sweep"))
    assert len(sweep) == 216
    true = grid_winners(sweep, 1.5)
    assert true == {(1,): "1-256-0.4", (2,): "2-256-0.3", (4,): "4-128-0.3", (8,): "8-64-0.3"}
    whole = sum(one.seconds for one in sweep.values())
    for floor, most in ((0.0, 0.44), (0.7, 0.27)):
        found = replay(sweep, prune_area(sweep, 1.5, floor), 1.5, 4, seed=1)
        assert found.winners == true
        assert found.spent < most * whole


@pytest.mark.parametrize(
    ("name", "threshold", "floor", "winners"),
    [
        ("mlp", 0.4, 0.3, ["1-128-0.3", "2-64-0.3", "4-32-0.3", "8-16-0.3"]),
        ("momentum", 0.5, 0.4, ["1-128-0.08", "2-64-0.08", "4-32-0.08", "8-16-0.08"]),
    ],
)
@pytest.mark.parametrize("with_floor", [False, True])
def test_other_recorded_sweeps_keep_their_winners(
    name: str, threshold: float, floor: float, winners: list[str], with_floor: bool
) -> None:
    sweep = read_recorded(Path(benchmarks.__file__).parent / "recorded_sweeps" / name)
    assert len(sweep) == 144
    true = grid_winners(sweep, threshold)
    assert list(true.values()) == winners
    whole = sum(one.run_seconds for one in sweep.values())
    for seed in range(2):
        guide = prune_area(sweep, threshold, floor if with_floor else 0.0)
        found = replay(sweep, guide, threshold, 4, seed=seed)
        assert found.winners == true
        assert found.spent < 0.7 * whole


@pytest.mark.long
def test_forecasts_keep_a_recorded_sweeps_winners_for_much_less(recorded_data: Callable[[str], Path]) -> None:
    sweep = read_recorded(recorded_data("recorded-sweep"))
    whole = sum(one.seconds for one in sweep.values())
    for together in (1, 4):
        found = replay(sweep, prune_forecast(sweep, 1.5), 1.5, together, seed=1)
        assert found.winners == grid_winners(sweep, 1.5)
        assert found.spent < 0.2 * whole


@pytest.mark.parametrize("threshold", [None, 0.5, 1.0])
def test_forecasts_keep_the_winners_of_made_up_sweeps(threshold: float | None) -> None:
    sweep = synthetic(60)
    found = replay(sweep, prune_forecast(sweep, threshold), threshold, 3, seed=2)
    assert found.winners == grid_winners(sweep, threshold)


def test_forecasts_learn_from_what_ended_before_and_put_the_most_workers_first() -> None:
    sweep = synthetic(60)
    guide = prune_forecast(sweep, 1.0)
    ordered = guide.ordered(parameters_of(sweep))
    workers = [sweep[trial].parameters["workers"] for trial in ordered]
    assert workers == sorted(workers, reverse=True)
    ended, waiting = ordered[:30], ordered[30:]
    guide.learn([sweep[trial].candidate(trial) for trial in ended])
    slow = next(trial for trial in waiting if min(point.loss for point in sweep[trial].points) > 1.5)
    guide.begin(slow, sweep[slow].points[-1].step, None)
    assert any(guide.point(slow, point) for point in sweep[slow].points)


def test_without_pruning_everything_runs_in_the_order_of_the_plan() -> None:
    sweep = synthetic(40)
    found = replay(sweep, Guide(), 1.0, 3, seed=0)
    assert found.winners == grid_winners(sweep, 1.0)
    assert found.spent == pytest.approx(sum(one.run_seconds for one in sweep.values()))


def guide_of(parameters: Mapping[str, Mapping[str, Any]]) -> AreaGuide:
    return AreaGuide(parameters, 1.0, "seconds", ("workers",))


GRID = {
    f"{workers}-{batch}-{rate}": {"workers": workers, "batch_size": batch, "learning_rate": rate}
    for workers in (1, 2)
    for batch in (16, 64, 256)
    for rate in (0.1, 0.2, 0.4)
}


def test_while_nothing_is_known_the_largest_batches_of_the_first_worker_count_come_first() -> None:
    ordered = guide_of(GRID).ordered(GRID)
    assert [GRID[trial]["workers"] for trial in ordered] == [1] * 9 + [2] * 9
    assert [GRID[trial]["batch_size"] for trial in ordered[:9]] == [256] * 3 + [64] * 3 + [16] * 3
    assert ordered[9:] == list(GRID)[9:]
    assert guide_of(GRID).ordered({}) == []


def test_short_neighbours_come_before_long_ones_and_good_ones_before_bad_ones() -> None:
    order = BestFirst(GRID, ("workers",))
    for batch, seconds in ((16, 1.0), (64, 2.0), (256, 9.0)):
        order.ended(f"1-{batch}-0.2", 1.0, seconds)
    waiting = [trial for trial in GRID if GRID[trial]["learning_rate"] == 0.1 and GRID[trial]["workers"] == 1]
    assert order.ordered(waiting) == ["1-16-0.1", "1-64-0.1", "1-256-0.1"]
    order = BestFirst(GRID, ("workers",))
    for rate, area in ((0.1, 5.0), (0.4, 1.0)):
        order.ended(f"1-64-{rate}", area, 1.0)
    assert order.ordered(["1-256-0.1", "1-256-0.4"]) == ["1-256-0.4", "1-256-0.1"]


def test_what_comes_later_is_put_in_order_by_what_was_known() -> None:
    first = {trial: GRID[trial] for trial in GRID if GRID[trial]["batch_size"] != 16}
    guide = guide_of(first)
    sweep = {
        trial: RecordedTrial(GRID[trial], [LossPoint(n, n, 0.1 * n * length, 0.5) for n in (1, 2)])
        for trial, length in (("1-64-0.1", 1), ("1-256-0.1", 50))
    }
    guide.learn([one.candidate(trial) for trial, one in sweep.items()])
    ordered = guide.ordered(GRID)
    assert sorted(ordered[:9]) == sorted(list(GRID)[:9])
    assert ordered.index("1-16-0.1") < ordered.index("1-256-0.2")


def test_names_and_lacking_values_have_coordinates_too() -> None:
    trials: dict[str, dict[str, Any]] = {
        "a": {"workers": 1, "exchange.method": "ring", "momentum": 0.0},
        "b": {"workers": 1, "exchange.method": "nccl", "momentum": 0.9},
        "c": {"workers": 1, "momentum": None},
        "d": {"workers": 1, "exchange.method": "ring", "momentum": 0.8},
    }
    order = BestFirst(trials, ("workers",))
    order.ended("a", 1.0, 1.0)
    order.ended("b", 1.0, 5.0)
    assert order.ordered(["c", "d"])[0] in ("c", "d")
    assert order.ordered(["d"]) == ["d"]
    assert parameters_of({}) == {}


GUIDES = {
    "area": prune_area,
    "forecast": prune_forecast,
    "shared": lambda sweep, threshold: share(sweep, threshold, prune_forecast),
}


@pytest.mark.parametrize("name", GUIDES)
@pytest.mark.parametrize("together", [1, 4])
def test_where_nothing_qualifies_nobody_wins_and_all_come_to_an_end(name: str, together: int) -> None:
    sweep = synthetic(60)
    found = replay(sweep, GUIDES[name](sweep, 0.01), 0.01, together, seed=3)
    assert set(found.winners.values()) == {None}


@pytest.mark.parametrize("name", GUIDES)
def test_after_ten_that_diverged_a_good_one_wins(name: str) -> None:
    def points(losses: list[float]) -> list[LossPoint]:
        return [LossPoint(n, 32 * n, 0.1 * n, loss) for n, loss in enumerate(losses, 1)]

    rates = [n / 10 for n in range(1, 14)]
    curves = [[2.0, 3.0, math.nan]] * 10 + [[2.0, 1.0, 0.5, 0.4], [2.0, 2.0, 2.0, 2.0], [2.1]]
    sweep = {
        f"t{n}": RecordedTrial({"workers": 1, "batch_size": 8, "learning_rate": rate}, points(losses))
        for n, (rate, losses) in enumerate(zip(rates, curves, strict=True))
    }
    for together in (1, 3):
        found = replay(sweep, GUIDES[name](sweep, 1.0), 1.0, together, seed=0)
        assert found.winners == {(1,): "t10"}


def test_forecasts_go_on_when_trials_of_other_kinds_and_ranges_are_added() -> None:
    sweep = synthetic(60)
    guide = prune_forecast(sweep, 1.0)
    guide.learn([one.candidate(trial) for trial, one in sweep.items()])
    new = {
        f"new-{rate}-{kind}": {"workers": 1, "batch_size": 16, "learning_rate": rate, "model": kind}
        for rate in (5.0, 6.0)
        for kind in ("one", "other")
    }
    guide.ordered(new)
    assert isinstance(guide, ForecastGuide)
    coordinates = guide._coordinates_of_all()
    assert len({coordinates[trial] for trial in new}) == 4
    assert not {coordinates[trial] for trial in new} & {coordinates[trial] for trial in sweep}
    for trial in new:
        guide.begin(trial, 100, None)
        for n in range(1, 101):
            guide.point(trial, LossPoint(n, None, 0.01 * n, 2.0))


def test_trials_that_others_gave_up_take_their_share_of_the_risk() -> None:
    sweep = synthetic(60)
    guide = prune_forecast(sweep, 1.0)
    guide.learn([one.candidate(trial, 0, TrialState.PRUNED) for trial, one in list(sweep.items())[:30]])
    assert isinstance(guide, ForecastGuide)
    assert guide._forecast._spent == pytest.approx(guide._forecast.risk / 2)


def test_a_number_that_some_trials_lack_lies_between_the_others() -> None:
    trials: list[dict[str, Any]] = [{"factor": 0.1}, {"factor": None}, {"factor": 0.2}, {"factor": 0.4}]
    found = coordinates_of(trials)
    assert found[:, 0] == pytest.approx([0.0, 0.5, 0.5, 1.0])
    assert found[:, 1].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert coordinates_of([{"kind": "a"}, {"kind": None}]).shape == (2, 2)
