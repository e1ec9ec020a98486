"""Forecasts: curves that were had, curves that were not, who is left out, and how far off it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.forecasting import forecast_rows, recorded_runs
from benchmarks.recorded import read_recorded
from benchmarks.search import synthetic
from sweeper.extrapolation import Estimate, Forecaster, Run, leave_one_count_out
from sweeper.extrapolation.loss_model import Losses, LossModel
from sweeper.plan.trial import TrialState
from tests.sweeper.extrapolation.made_up import grid, mean_loss, run, setting, step_seconds


def test_a_setting_whose_curve_was_had_is_that_curve_at_the_time_of_its_own_steps() -> None:
    runs = grid((1, 2, 4))
    one = Forecaster(runs, 1.0, price=3.6).predict(setting(32, 0.2), 8)  # global batch 256, as 4 workers of 64 had it
    assert one
    assert one.curve.measured
    true = run(setting(32, 0.2), 8)
    assert true.area_seconds
    assert one.area.value == pytest.approx(true.area_seconds, rel=0.01)
    assert one.seconds.value == pytest.approx(200 * step_seconds(8, 32), rel=0.01)
    assert one.dollars
    assert one.dollars.value == pytest.approx(one.seconds.value * 8 * 3.6 / 3600)
    assert one.area_dollars
    assert one.area_dollars.value == pytest.approx(one.area.value * 8 / 1000)
    assert one.chance == 1.0
    low, high = one.area.interval
    assert low < true.area_seconds < high


def test_runs_of_a_number_of_steps_have_the_images_of_their_global_batch() -> None:
    of_steps = replace(setting(32, 0.2), images=0, own_steps=100)
    assert [(of_steps.steps(workers), of_steps.images_of(workers)) for workers in (1, 8)] == [
        (100, 3200),
        (100, 25_600),
    ]
    of_images = setting(32, 0.2)
    assert [(of_images.steps(workers), of_images.images_of(workers)) for workers in (1, 8)] == [
        (1600, 51_200),
        (200, 51_200),
    ]
    runs = [replace(one, setting=replace(one.setting, images=0, own_steps=100)) for one in grid((1, 2, 4))]
    one = Forecaster(runs, None, price=None).predict(replace(setting(32, 0.2), images=0, own_steps=100), 8)
    assert one
    assert one.seconds.value == pytest.approx(100 * step_seconds(8, 32), rel=0.01)


def test_a_curve_that_nobody_had_comes_from_those_about_it() -> None:
    # Global batches of 48 and 96 among 16, 32, 64, ...
    forecaster = Forecaster(grid((1, 2, 4)), 1.0)
    for batch, rate in ((16, 0.1), (32, 0.2), (16, 0.4)):
        one = forecaster.predict(setting(batch, rate), 3)
        assert one
        assert not one.curve.measured
        low, high = one.area.interval
        true = run(setting(batch, rate), 3).area_seconds
        assert true
        assert low < true < high
        assert one.area.value == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize("over", ["seconds", "images", "steps", "dollars"])
def test_the_best_come_first_over_each_axis(over: str) -> None:
    found = Forecaster(grid((1, 2, 4)), None, over, price=1.0).at(8)
    areas = [one.area.value for one in found.ranking]
    assert areas == sorted(areas)
    assert found.settings == len(areas) == 15
    assert not found.measured


def test_who_misses_the_threshold_is_not_ranked() -> None:
    limit = 0.55  # of losses whose lowest is half their mean
    found = Forecaster(grid((1, 2, 4)), limit).at(8)
    known = [one for one in found.ranking if one.curve.measured]
    assert known
    assert all(mean_loss(o.setting.global_batch(8), o.setting.learning_rate) / 2 <= limit for o in known)
    assert all(one.chance >= 0.5 for one in found.ranking)
    assert not Forecaster(grid((1, 2, 4)), 0.1).at(8).ranking
    assert not Forecaster(grid((1, 2, 4)), -1.0).at(8).ranking


def test_a_curve_that_diverged_is_out_and_its_neighbours_are_unpromising() -> None:
    runs = grid((1, 2, 4))
    wild = [run(setting(batch, 3.2), count, state=TrialState.DIVERGED) for count in (1, 2) for batch in (16, 32)]
    found = Forecaster([*runs, *wild], None)
    assert found.predict(setting(16, 3.2), 4) is None  # global batch 64, of 2 workers of 32, diverged
    calm, near = found.predict(setting(24, 0.2), 3), found.predict(setting(16, 2.9), 3)
    assert calm
    assert near
    assert near.chance < 0.5 < calm.chance


def test_a_pruned_curve_is_no_smaller_than_it_was_when_it_was_stopped() -> None:
    runs = [one for one in grid((1, 2, 4)) if one.setting.global_batch(one.workers) != 512]
    stopped = run(setting(256, 0.2), 2, scale=50.0, state=TrialState.PRUNED)
    one = Forecaster([*runs, stopped], None, "steps").predict(setting(64, 0.2), 8)
    assert one
    assert not one.curve.measured
    assert one.area.value == stopped.area_steps


def test_seeds_count_by_their_mean_and_must_all_qualify() -> None:
    runs = [replace(one, seed=seed) for one in grid((1, 2, 4)) for seed in (0, 1)]
    better = [
        replace(one, area_steps=0.8 * one.area_steps, minimum_loss=0.1) if one.seed and one.area_steps else one
        for one in runs
    ]
    plain, mixed = (Forecaster(found, None, "steps").predict(setting(32, 0.2), 8) for found in (runs, better))
    assert plain
    assert mixed
    assert mixed.area.value == pytest.approx(0.9 * plain.area.value)
    assert mixed.curve.minimum_loss.value == plain.curve.minimum_loss.value
    strict = Forecaster(better, 0.3).predict(setting(32, 0.2), 8)
    assert strict
    assert strict.chance == 0.0


def test_runs_of_one_curve_that_differ_make_it_less_certain() -> None:
    runs = grid((1, 2, 4))
    chaotic = [
        run(one.setting, one.workers, scale=1.2) if (one.workers, one.setting.batch_size) == (2, 128) else one
        for one in runs
    ]
    plain, wide = (Forecaster(found, None, "steps").predict(setting(32, 0.2), 8) for found in (runs, chaotic))
    assert plain
    assert wide
    assert wide.area.reach > 10 * plain.area.reach


def test_what_cannot_run_or_is_not_known_is_counted() -> None:
    few = grid((1, 2), batches=(16,), rates=(0.1,))  # two curves are too few to tell of a third
    found = Forecaster(few, None).at(4)
    assert (found.ranking, found.unknown, found.too_large) == ((), 1, 0)
    large = Forecaster(grid((1, 2)), None).at(1_000_000)
    assert (large.ranking, large.too_large) == ((), large.settings)
    one_count = Forecaster(grid((2,)), None).at(4)  # of what an exchange takes nothing is known
    assert one_count.unknown == one_count.settings


def test_a_global_batch_is_shared_out() -> None:
    def strong(batch: int, workers: int) -> Run:
        one = replace(setting(1, 0.2), values=(("global_batch_size", batch),), batch_size=None, global_batch_size=batch)
        return run(one, workers)

    runs = [strong(batch, workers) for batch in (64, 128, 256, 512) for workers in (1, 2, 4)]
    found = Forecaster(runs, None).at(8)
    assert {one.setting.share(8) for one in found.ranking} == {8, 16, 32, 64}
    for one in found.ranking:
        assert one.curve.measured
        assert one.step_seconds.value == pytest.approx(step_seconds(8, one.setting.share(8)), rel=0.1)


def test_each_count_is_forecast_from_the_others_where_two_are_left() -> None:
    assert leave_one_count_out(grid((1, 2)), None) == []
    checks = leave_one_count_out(grid((1, 2, 4, 8)), 1.0)
    assert [(check.workers, check.others) for check in checks] == [
        (1, (2, 4, 8)),
        (2, (1, 4, 8)),
        (4, (1, 2, 8)),
        (8, (1, 2, 4)),
    ]
    for check in checks:
        assert check.worst_error is not None
        assert check.worst_error < 0.1
        assert check.regret is not None
        assert check.regret < 0.05
    assert leave_one_count_out(grid((1, 2, 4, 8)), 0.01) == []


def test_dollars_are_checked_in_dollars() -> None:
    runs = grid((1, 2, 4, 8))
    ways = zip(leave_one_count_out(runs, 1.0), leave_one_count_out(runs, 1.0, "dollars", price=2.0), strict=True)
    for seconds, dollars in ways:  # a count's dollars are its seconds times a constant
        assert dollars.errors == pytest.approx(seconds.errors)


def test_the_recorded_sweeps_eight_workers_are_forecast_within_a_tenth(recorded_data: Callable[[str], Path]) -> None:
    sweep = read_recorded(recorded_data("recorded-sweep"))
    checks = {check.workers: check for check in leave_one_count_out(recorded_runs(sweep), 1.5)}
    eight = checks[8]
    assert (len(eight.errors), eight.unpredicted, eight.within) == (10, 0, 10)
    assert eight.worst_error is not None
    assert eight.worst_error < 0.1
    assert max(map(abs, eight.chosen_errors)) < 0.1
    assert all(check.regret is not None and check.regret < 0.02 for check in checks.values())
    winner = Forecaster([one for one in recorded_runs(sweep) if one.workers < 8], 1.5).at(8).ranking[0]
    assert dict(winner.setting.values) == {"batch_size": 64, "learning_rate": 0.3}


def test_the_benchmark_has_rows_of_each_count() -> None:
    names = [row.name for row in forecast_rows(synthetic(120), None)]
    for workers in (1, 2, 4, 8):
        assert any(name.startswith(f"forecast of {workers} workers from") for name in names)


@given(st.floats(1e-6, 1e6), st.floats(0, 3), st.floats(1e-6, 1e6), st.floats(0, 3))
def test_an_estimates_interval_holds_its_value(value: float, reach: float, other: float, others: float) -> None:
    product = Estimate(value, reach) * Estimate(other, others)
    low, high = product.interval
    assert 0 < low <= product.value * (1 + 1e-9)
    assert product.value <= high * (1 + 1e-9)
    assert product.reach >= max(reach, others)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from([16, 32, 64, 128]), st.sampled_from([0.01, 0.1, 0.5])),
        st.none() | st.builds(Losses, st.floats(0, 10), st.floats(0, 10)),
        max_size=12,
    )
)
def test_any_losses_give_finite_predictions_or_none(known: dict[tuple[int, float], Losses | None]) -> None:
    found = LossModel(known).at((48, 0.2))
    finite = sum(losses is not None for losses in known.values())
    assert (found is None) == (finite < 4)
    if found:
        assert 0 <= found.healthy <= 1
        assert 0 < found.mean.value < float("inf")
        assert 0 <= found.chance_at_most(1.0) <= found.chance_at_most(5.0) <= found.healthy
