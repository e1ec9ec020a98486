"""Times of models whose losses do not follow from the global batch: steps, throughput, training, dollars."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeper.extrapolation import Forecaster, Run, Setting, leave_one_count_out, time_errors
from tests.sweeper.extrapolation.made_up import IMAGES, grid, run, setting, step_seconds

WHY = "batch statistics change with the batch per worker"


def normalised(counts: tuple[int, ...], batches: tuple[int, ...] = (16, 32, 64, 128, 256)) -> list[Run]:
    """Runs that take as long as those of the laws, of a model whose losses do not follow."""
    return [replace(one, setting=of_norm(one.setting)) for one in grid(counts, batches)]


def of_norm(of: Setting) -> Setting:
    return replace(of, differs=WHY, model="resnet-20")


def test_times_are_known_where_losses_are_not() -> None:
    forecaster = Forecaster(normalised((1, 2, 4)), None, price=3.6)
    assert forecaster.at(8).settings == 0
    found = forecaster.times_at(8)
    assert (found.settings, found.unknown, found.too_large, found.measured) == (5, 0, 0, False)
    assert [one.seconds.value for one in found.times] == sorted(one.seconds.value for one in found.times)
    for one in found.times:
        share = one.setting.batch_size or 0
        steps = IMAGES / (8 * share)
        assert one.step_seconds.value == pytest.approx(step_seconds(8, share), rel=0.02)
        assert one.seconds.value == pytest.approx(one.step_seconds.value * steps)
        assert one.images_per_second.value == pytest.approx(IMAGES / one.seconds.value)
        assert one.images_per_second.reach == one.seconds.reach
        assert one.dollars
        assert one.dollars.value == pytest.approx(one.seconds.value * 8 / 1000)
        assert not one.measured
        assert dict(one.setting.values) == {"batch_size": share}  # rates take the same time


def test_times_of_counts_that_ran_are_the_measured_ones() -> None:
    runs = normalised((1, 2, 4))
    for workers in (1, 2, 4):
        for one in Forecaster(runs, None).times_at(workers).times:
            assert one.measured
            assert one.step_seconds.value == pytest.approx(step_seconds(workers, one.setting.batch_size or 0))


def test_what_cannot_run_or_is_not_known_is_counted() -> None:
    assert Forecaster(normalised((1, 2)), None).times_at(1_000_000).too_large == 5
    found = Forecaster(normalised((2,)), None).times_at(4)
    assert (found.times, found.unknown) == ((), 5)


def test_models_of_both_kinds_have_each_their_own() -> None:
    alike = [replace(one, setting=replace(one.setting, time="mlp")) for one in grid((1, 2, 4))]
    forecaster = Forecaster([*alike, *normalised((1, 2, 4))], None)
    assert (forecaster.at(8).settings, forecaster.times_at(8).settings) == (15, 5)
    assert all(not one.setting.differs for one in forecaster.at(8).ranking)
    assert leave_one_count_out([*alike, *normalised((1, 2, 4))], None) == leave_one_count_out(alike, None)


def test_forecasts_of_settings_that_follow_have_a_throughput() -> None:
    one = Forecaster(grid((1, 2, 4)), None).predict(setting(32, 0.2), 8)
    assert one
    assert one.times.images_per_second.value == pytest.approx(IMAGES / one.seconds.value)


def test_each_counts_steps_are_forecast_from_the_others() -> None:
    assert time_errors(normalised((1, 2))) == []
    assert time_errors(grid((1, 2, 4))) == []
    checks = time_errors(normalised((1, 2, 4, 8)))
    assert [(check.workers, check.others) for check in checks] == [
        (1, (2, 4, 8)),
        (2, (1, 4, 8)),
        (4, (1, 2, 8)),
        (8, (1, 2, 4)),
    ]
    for check in checks:
        assert (len(check.errors), check.unpredicted) == (5, 0)
        assert check.worst_error is not None
        assert check.worst_error < 0.1


def test_a_strong_setting_shares_its_batch_out() -> None:
    of = of_norm(replace(setting(1, 0.2), batch_size=None, global_batch_size=256))
    (one,) = Forecaster([run(of, count) for count in (1, 2, 4)], None).times_at(8).times
    assert one.step_seconds.value == pytest.approx(step_seconds(8, 32), rel=0.3)
