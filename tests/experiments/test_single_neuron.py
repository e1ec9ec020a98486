"""One neuron on 1 to 16 workers: the small version runs, and the recorded curves say what the README says."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.single_neuron import curves
from experiments.single_neuron.__main__ import main
from experiments.single_neuron.curves import Curve, mean_curve
from experiments.single_neuron.measures import Measures, in_windows, measure, noise, running_mean, steps_to
from experiments.study import Study, copy_recorded
from sweeper.ranking.confidence import interval

FOLDER = Path(__file__).parents[2] / "experiments" / "single_neuron"
WORKERS = [1, 2, 4, 8, 16]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    copy_recorded(FOLDER, folder)
    return folder


@pytest.fixture(scope="module")
def ways(recorded: Path) -> dict[str, list[Curve]]:
    with Study(FOLDER, recorded, quick=False, executor="local", only=()).reading() as store:
        return {way.sweep: found for way, found in curves.of_ways(store).items()}


@pytest.fixture(scope="module")
def processes(recorded: Path) -> dict[int, list[Curve]]:
    with Study(FOLDER, recorded, quick=False, executor="local", only=()).reading() as store:
        return curves.of_seeds(store)


@pytest.fixture(scope="module")
def seeds(processes: Mapping[int, list[Curve]]) -> dict[int, list[Measures]]:
    return {workers: [curve.measures for curve in some] for workers, some in processes.items()}


def test_the_small_version_runs_and_workers_take_the_steps_of_one_process(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--quick", "--into", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "claim.svg",
        "gradients.svg",
        "weights-own-starts.svg",
    }
    study = Study(FOLDER, tmp_path, quick=True, executor="local", only=())
    with study.reading() as store:
        found, processes = curves.of_ways(store), curves.of_seeds(store)
    (gradients,), (own,), (equal,) = found.values()
    assert np.abs(gradients.windows - processes[2][0].losses).max() < 1e-6
    assert np.abs(gradients.losses - equal.losses).max() < 1e-4
    assert gradients.losses[0] != own.losses[0]


def test_the_tables_follow_from_the_recorded_result(recorded: Path) -> None:
    done = CliRunner().invoke(main, ["--redraw", "--into", str(recorded)])
    assert done.exit_code == 0, done.output
    assert (recorded / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_the_loss_is_less_noisy_with_each_doubling_of_the_workers(seeds: Mapping[int, list[Measures]]) -> None:
    for fewer, more in pairwise(WORKERS):
        ratios = [b.noise / a.noise for a, b in zip(seeds[fewer], seeds[more], strict=True) if a.noise and b.noise]
        found = interval(ratios)
        assert len(ratios) == 20
        assert found is not None
        assert found[1] < 1
    last = [b.noise / a.noise for a, b in zip(seeds[1], seeds[16], strict=True) if a.noise and b.noise]
    assert np.mean(last) == pytest.approx(16**-0.5, rel=0.1)


def test_the_loss_falls_no_slower_over_steps_and_n_times_slower_over_images(
    seeds: Mapping[int, list[Measures]],
) -> None:
    one = np.array([found.fast for found in seeds[1]], dtype=float)
    for workers in WORKERS[1:]:
        several = np.array([found.fast for found in seeds[workers]], dtype=float)
        low, high = interval((several - one).tolist()) or (np.nan, np.nan)
        assert low < 0 < high
        assert high < 0.05 * one.mean()
        of_images = interval((workers * several / one).tolist()) or (np.nan, np.nan)
        assert of_images[0] < workers < of_images[1]
        lower_mean = interval([a.mean - b.mean for a, b in zip(seeds[1], seeds[workers], strict=True)])
        assert lower_mean is not None
        assert lower_mean[0] > 0  # the whole curve is a little lower, if anything


def test_at_a_low_level_noise_makes_few_workers_look_faster(seeds: Mapping[int, list[Measures]]) -> None:
    sooner = interval([b.late - a.late for a, b in zip(seeds[1], seeds[16], strict=True) if a.late and b.late])
    assert sooner is not None
    assert sooner[0] > 0


def test_without_noise_one_worker_comes_to_a_low_level_last(processes: Mapping[int, list[Curve]]) -> None:
    late = {workers: measure(mean_curve(some)).late for workers, some in processes.items()}
    assert late == {1: 5320, 2: 5180, 4: 4780, 8: 4960, 16: 4880}


def test_workers_and_one_process_with_their_batch_have_the_same_curve(
    ways: Mapping[str, list[Curve]], processes: Mapping[int, list[Curve]]
) -> None:
    assert [curve.workers for curve in ways["gradients"]] == WORKERS
    for curve in ways["gradients"]:
        assert len(curve.losses) == 10_000
        assert np.abs(curve.windows - processes[curve.workers][0].losses).max() < 1e-5


def test_averaged_weights_are_averaged_gradients_where_starts_are_equal(ways: Mapping[str, list[Curve]]) -> None:
    gradients = {curve.workers: curve for curve in ways["gradients"]}
    for curve in ways["weights-equal-starts"]:
        assert np.abs(curve.losses - gradients[curve.workers].losses).max() < 1e-3
    for curve in ways["weights-own-starts"]:
        assert curve.losses[0] != pytest.approx(gradients[curve.workers].losses[0], rel=1e-3)
        assert np.abs(curve.windows[-100:] - gradients[curve.workers].windows[-100:]).mean() < 1e-3


def test_measures_of_curves_that_are_known() -> None:
    falling = np.concatenate([np.full(50, 0.1), np.full(450, 0.05)])
    # Five windows of 0.1 and twenty of 0.05 have a mean of 0.06.
    assert steps_to(falling, 0.0601) == 20 * 70
    assert steps_to(falling, 0.01) is None
    found = measure(falling)
    assert (found.fast, found.late) in [(1400, None), (1420, None)]  # 0.06 but for rounding
    assert found.mean == pytest.approx(0.055)
    assert found.noise == pytest.approx(0.0, abs=1e-12)


def test_noise_is_what_was_put_on_a_curve_that_falls() -> None:
    random = np.random.default_rng(0)
    losses = np.linspace(0.2, 0.1, 5000) + random.normal(0.0, 0.01, 5000)
    found = [noise(losses[start : start + 500]) or np.nan for start in range(0, 5000, 100)]
    assert np.mean(found) == pytest.approx(0.01 * (24 / 25) ** 0.5, rel=0.05)


@pytest.mark.parametrize("windows", [0, 24, 99])
def test_curves_that_are_too_short_have_no_measures(windows: int) -> None:
    losses = np.full(windows, 0.1)
    assert noise(losses) is None
    assert steps_to(losses[:24], 0.5) is None
    assert len(running_mean(losses[:24])) == 0


def test_single_steps_become_windows_of_twenty() -> None:
    assert in_windows(np.arange(45, dtype=float)).tolist() == [9.5, 29.5]
