"""The time of steps: what the fit finds, what it never does, how its intervals grow."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.extrapolation.step_time import StepTimes, cells_of, distance
from sweeper.plan.trial import TrialState
from tests.sweeper.extrapolation.made_up import grid, run, setting, step_seconds

BATCHES = (16, 32, 64, 128, 256)
CELLS = {(workers, batch): step_seconds(workers, batch) for workers in (1, 2, 4) for batch in BATCHES}


@pytest.mark.parametrize("workers", [8, 16, 64])
def test_a_law_of_the_models_kind_is_found(workers: int) -> None:
    times = StepTimes(CELLS)
    for batch in (16, 24, 100, 256, 512):
        assert times.seconds(workers, batch).value == pytest.approx(step_seconds(workers, batch), rel=0.01)


def test_a_parameter_server_takes_as_much_longer_as_it_has_workers() -> None:
    cells = {(w, b): 1e-4 + 1e-6 * b + 3e-5 * (w - 1) for w in (1, 2, 4) for b in BATCHES}
    assert StepTimes(cells, "parameter-server").seconds(32, 64).value == pytest.approx(1.64e-4 + 93e-5, rel=0.01)
    assert StepTimes(cells).seconds(32, 64).value < 8e-4


cells = st.dictionaries(
    st.tuples(st.sampled_from([1, 2, 3, 4, 6]), st.sampled_from([1, 16, 50, 64, 128])),
    st.floats(1e-6, 10),
    min_size=2,
).filter(lambda found: len({workers for workers, _ in found}) > 1)


@given(cells, st.sampled_from(["auto", "ring", "parameter-server"]))
def test_computing_does_not_fall_with_the_batch_nor_intervals_with_the_distance(
    cells: dict[tuple[int, int], float], method: str
) -> None:
    times = StepTimes(cells, method)
    computing = [times.compute(batch) for batch in range(1, 300)]
    assert all(0 <= less <= more * (1 + 1e-9) for less, more in itertools.pairwise(computing))
    far = [times.seconds(workers, 64) for workers in (8, 16, 32, 1024)]
    assert [one.reach for one in far] == sorted(one.reach for one in far)
    assert all(one.value >= times.compute(64) and 0 < one.value < math.inf for one in far)
    assert all(math.isfinite(one.reach) for one in far)
    for low, high in (one.interval for one in far):
        assert 0 <= low <= high


def test_measured_cells_are_taken_as_they_are() -> None:
    cells = {**CELLS, (2, 64): 7.0}
    assert StepTimes(cells).seconds(2, 64).value == 7.0


def test_steps_that_grow_more_with_the_workers_are_less_certain() -> None:
    slower = {(w, b): seconds * (1.5 if w > 1 else 1.0) for (w, b), seconds in CELLS.items()}
    assert StepTimes(slower).seconds(16, 64).reach > StepTimes(CELLS).seconds(16, 64).reach


def test_one_worker_exchanges_nothing_which_nobody_has_seen_where_all_do() -> None:
    without = StepTimes({cell: seconds for cell, seconds in CELLS.items() if cell[0] > 1})
    among = StepTimes({cell: seconds for cell, seconds in CELLS.items() if cell != (1, 64)})
    assert without.seconds(1, 64).reach > 0.1 > among.seconds(1, 64).reach


def test_one_batch_size_is_enough_and_its_neighbours_are_uncertain() -> None:
    times = StepTimes({(1, 32): 1.0, (2, 32): 1.1})
    assert times.seconds(4, 32).value >= 1.1
    assert times.seconds(4, 64).reach > times.seconds(4, 32).reach


def test_a_cell_is_the_median_of_all_rates_without_what_shared_its_cores_or_diverged() -> None:
    one = setting(64, 0.1)
    runs = [run(one, 2, seed, seconds=lambda *_, pace=pace: pace) for seed, pace in enumerate((1.0, 2.0, 6.0))]
    runs.append(run(one, 2, 3, timed=False, seconds=lambda *_: 100.0))
    runs.append(run(one, 2, 4, state=TrialState.DIVERGED, seconds=lambda *_: 0.1))
    runs.append(run(setting(64, 0.2), 2, state=TrialState.PRUNED, seconds=lambda *_: 2.5))
    assert cells_of(runs) == {(2, 64): pytest.approx(2.25)}
    assert len(cells_of(grid((1, 2)))) == 10


def test_distances() -> None:
    assert distance(3.0, [1.0, 2.0]) == 1.0
    assert distance(0.0, [1.0, 2.0]) == 1.0
    assert distance(2.0, [1.0, 2.0, 3.0]) == 0.0
    assert distance(1.5, [1.0, 2.0]) == 0.25
