"""A virtual machine: what starts, stops and seats cost, as the real scheduler uses them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.machine_rows import worst_ratio
from benchmarks.recorded import RecordedTrial, at_usual_paces, grid_winners, read_recorded
from benchmarks.virtual_machine import Machine, machine_named, replay_on
from sweeper.gangs.seats import Seats
from sweeper.ranking.curve import LossPoint

TWO_CORES = Machine(Seats(2), cold_s=3.0, first_set_up_s=0.5, set_up_s=0.25, stop_s=0.01)
IMAGES = 640  # in ten points


def trial(workers: int, rate: float, seconds: float = 1.0, losses: Sequence[float] = (1.0,) * 10) -> RecordedTrial:
    """Ten points, one each `seconds`; 16 images a worker and step."""
    steps = IMAGES // 10 // (16 * workers)
    points = [LossPoint(n * steps, 64 * n, n * seconds, loss) for n, loss in enumerate(losses, 1)]
    return RecordedTrial({"workers": workers, "batch_size": 16, "learning_rate": rate}, points)


def test_trials_of_one_worker_run_side_by_side_on_gangs_that_stay() -> None:
    sweep = {str(n): trial(1, n / 10) for n in range(1, 5)}
    found = replay_on(TWO_CORES, sweep, None, None)
    assert found.wall == pytest.approx(3.0 + 0.5 + 10 + 0.25 + 10)
    assert (found.spent, found.started, found.opened) == (40.0, 4, 2)
    assert found.winners == {(1,): "1"}


def test_idle_gangs_leave_for_a_larger_one_and_that_one_for_smaller_ones() -> None:
    sweep = {"a": trial(1, 0.1), "b": trial(1, 0.2), "c": trial(2, 0.1)}
    found = replay_on(TWO_CORES, sweep, None, None)
    assert found.opened == 3
    assert found.wall == pytest.approx(2 * (3.0 + 0.5 + 10))


def test_with_gpus_a_worker_takes_one() -> None:
    sweep = {str(n): trial(1, n / 10) for n in range(1, 4)}
    walls = [replay_on(replace(TWO_CORES, seats=Seats(16, gpus)), sweep, None, None).wall for gpus in (1, 3)]
    assert walls == pytest.approx([3.5 + 10 + 2 * 10.25, 3.5 + 10])


@pytest.mark.parametrize(("stop_s", "points"), [(0.01, 5), (2.5, 7)])
def test_a_stop_comes_one_report_late_or_more(stop_s: float, points: int) -> None:
    """Ten seconds at 1.0 are to be beaten; at 3.0 the fourth point is beyond that."""
    machine = replace(TWO_CORES, seats=Seats(1), stop_s=stop_s)
    sweep = {"good": trial(1, 0.1), "bad": trial(1, 0.2, losses=[3.0] * 10)}
    found = replay_on(machine, sweep, None, None, "area")
    assert found.winners == {(1,): "good"}
    assert found.spent == 10 + points


def test_a_run_that_diverges_ends_there() -> None:
    sweep = {"good": trial(1, 0.1), "bad": trial(1, 0.2, losses=[1.0, math.nan])}
    found = replay_on(TWO_CORES, sweep, None, None)
    assert found.spent == 12.0
    assert found.winners == {(1,): "good"}


def test_each_worker_count_opens_its_gangs_once_where_curves_are_shared() -> None:
    recorded = read_recorded(Path(__file__).parents[2] / "benchmarks" / "recorded_sweeps" / "mlp")
    sweep = {name: one for name, one in recorded.items() if one.parameters["workers"] <= 2}
    found = replay_on(machine_named("2cores"), sweep, 0.4, 3, "area", "equivalent")
    assert found.opened == 3  # one of two workers, then two of one
    assert found.winners == grid_winners(sweep, 0.4)


def test_usual_paces_are_those_of_the_middle_of_a_cell() -> None:
    sweep = {str(n): trial(1, n / 10, seconds) for n, seconds in enumerate((1.0, 1.5, 9.0), 1)}
    sweep["other"] = trial(2, 0.1, 4.0)
    found = at_usual_paces(sweep)
    assert [one.seconds for one in found.values()] == [15.0, 15.0, 15.0, 40.0]


def test_the_worst_winner_counts_and_a_lost_one_most() -> None:
    sweep = {"a": trial(1, 0.1), "b": trial(1, 0.2, 1.02), "c": trial(2, 0.1)}
    true = grid_winners(sweep, None)
    assert worst_ratio(sweep, true, {(1,): "b", (2,): "c"}) == pytest.approx(1.02)
    assert worst_ratio(sweep, true, {(1,): "a", (2,): None}) == math.inf


@pytest.mark.parametrize("name", ["", "2", "cores", "0gpus", "2tpus", "-1gpu", "2 cores"])
def test_unknown_machines_are_refused_with_examples(name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"unknown machine: .*; write for example 2cores"):
        machine_named(name)
    assert machine_named("4gpus").seats == Seats(64, 4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("machine", "workers", "reuse", "wall"),
    [("1gpu", 1, "none", 0.25), ("2gpus", 2, "equivalent", 0.25), ("4gpus", 4, "equivalent", 0.26)],
)
def test_forecasts_keep_the_winners_for_a_quarter_of_the_wall_time(
    machine: str, workers: int, reuse: str, wall: float, recorded_data: Callable[[str], Path]
) -> None:
    recorded = read_recorded(recorded_data("recorded-sweep"))
    sweep = {name: one for name, one in recorded.items() if one.parameters["workers"] <= workers}
    on = machine_named(machine)
    grid, found = replay_on(on, sweep, 1.5, 0), replay_on(on, sweep, 1.5, 1, "forecast", reuse)
    assert found.winners == grid.winners == grid_winners(sweep, 1.5)
    assert found.opened == grid.opened
    assert found.wall < wall * grid.wall
