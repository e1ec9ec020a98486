"""A trial in one process: what it learns, what it reports, how it ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mpi4py import MPI
from numpy.typing import NDArray

from engine.config import TrainingConfig
from engine.data import cifar10
from engine.data.shards import Stream
from engine.errors import DataError
from engine.exchange import Staging
from engine.protocol import Ended, Evaluated, Point, Started
from engine.trainer import train
from tests.engine.working_clock import COMPUTING, EVALUATING, REPORTING, UPDATING, WorkingClock

NEURON = {"model": "neuron", "data": "step-function", "learning_rate": 0.5}
PICTURES = {"model": "alexnet-cifar", "data": "digits", "learning_rate": 0.05, "momentum": 0.9}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in a worker with one core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(
    settings: dict[str, object], stop_asked: Callable[[], bool] = lambda: False
) -> tuple[Started, list[Point], Ended]:
    """What is reported of a trial."""
    config = TrainingConfig.model_validate({"device": "cpu", **settings})
    events: list[Started | Point | Evaluated | Ended] = []
    train("some trial", config, MPI.COMM_SELF, events.append, stop_asked)
    started, *points, ended = events
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert {event.trial for event in events} == {"some trial"}
    return started, [point for point in points if isinstance(point, Point)], ended


@pytest.mark.parametrize(
    ("settings", "goal"),
    [
        ({**NEURON, "images": 10_240, "batch_size": 16, "points": 10}, 0.6),
        ({**PICTURES, "images": 4_000, "batch_size": 16, "points": 6}, 0.6),
        ({**PICTURES, "data": "synthetic", "learning_rate": 0.02, "images": 1_600, "batch_size": 8, "points": 4}, 0.8),
    ],
)
def test_the_loss_falls(settings: dict[str, object], goal: float) -> None:
    _, points, ended = run(settings)
    assert ended.outcome == "completed"
    assert min(point.loss for point in points) < goal * points[0].loss


@pytest.mark.parametrize("settings", [{**NEURON, "images": 2_000}, {**PICTURES, "images": 600}])
def test_the_same_trial_has_the_same_curve_to_the_last_bit(settings: dict[str, object]) -> None:
    curves = [
        [(point.step, point.images, point.loss) for point in run({**settings, "batch_size": 32, "seed": seed})[1]]
        for seed in (5, 5, 6)
    ]
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


@pytest.mark.parametrize("rate", [1e4, 1e38])
def test_divergence_ends_it(rate: float) -> None:
    _, points, ended = run({**PICTURES, "learning_rate": rate, "images": 3_200, "batch_size": 8, "points": 400})
    assert ended.outcome == "diverged"
    assert not math.isfinite(points[-1].loss)
    assert all(math.isfinite(point.loss) for point in points[:-1])
    assert (ended.steps, ended.images) == (points[-1].step, points[-1].images)
    assert ended.steps < 400
    assert ended.reason == f"loss is {points[-1].loss} at step {ended.steps}"


@pytest.mark.parametrize(
    ("images", "batch_size", "steps"),
    [(128, 32, 4), (100, 32, 4), (129, 32, 5), (5, 32, 1), (1, 1, 1), (11_000, 999, 12)],
)
def test_exactly_the_images_are_seen(images: int, batch_size: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[NDArray[np.int64]] = []

    class Watched(Stream):
        def indices(self, start: int, stop: int) -> NDArray[np.int64]:
            seen.append(super().indices(start, stop))
            return seen[-1]

    monkeypatch.setattr("engine.run.Stream", Watched)
    _, points, ended = run({**NEURON, "images": images, "batch_size": batch_size, "seed": 4})
    warm_up = len(seen) - steps
    assert np.array_equal(np.concatenate(seen[warm_up:]), Stream(10_240, seed=4).indices(0, images))
    assert 0 <= warm_up <= 5
    assert (ended.images, ended.steps) == (points[-1].images, points[-1].step) == (images, steps)


@pytest.mark.parametrize(
    ("images", "batch_size", "wanted", "points"),
    [(1000, 10, 20, 20), (1000, 10, 1, 1), (1000, 100, 300, 10), (1005, 10, 50, 51)],
)
def test_there_are_about_as_many_points_as_asked_for(images: int, batch_size: int, wanted: int, points: int) -> None:
    _, found, _ = run({**NEURON, "images": images, "batch_size": batch_size, "points": wanted})
    assert len(found) == points
    seen = [p.images or 0 for p in found]
    assert seen == sorted(set(seen))
    assert all(point.images == min(point.step * batch_size, images) for point in found)


@pytest.mark.parametrize(
    ("budget", "images", "steps"),
    [({"epochs": 0.01}, 102, 11), ({"epochs": 1.5}, 15_360, 1_536), ({"steps": 7}, 70, 7)],
)
def test_a_budget_may_be_of_epochs_or_steps(budget: dict[str, object], images: int, steps: int) -> None:
    started, points, ended = run({**NEURON, **budget, "batch_size": 10, "points": "all"})
    assert (ended.images, ended.steps, len(points)) == (images, steps, steps)
    assert (started.effective["images"], started.effective["steps"]) == (images, steps)


def test_equal_budgets_have_equal_curves() -> None:
    of_images, of_steps, of_epochs = (
        [(point.step, point.images, point.loss) for point in run({**NEURON, **budget, "batch_size": 128})[1]]
        for budget in ({"images": 10_240}, {"steps": 80}, {"epochs": 1})
    )
    assert of_images == of_steps == of_epochs


def test_a_point_is_the_mean_over_its_images_whatever_the_windows() -> None:
    settings: dict[str, object] = {**NEURON, "images": 95, "batch_size": 10}
    each = run({**settings, "points": 100})[1]
    (whole,) = run({**settings, "points": 1})[1]
    sizes = np.diff([0, *(point.images for point in each)])
    assert whole.loss == pytest.approx(np.average([point.loss for point in each], weights=sizes), rel=1e-12)
    assert sizes.tolist() == [10] * 9 + [5]


def test_the_clock_goes_forward() -> None:
    _, points, ended = run({**NEURON, "images": 500, "batch_size": 10, "points": 10})
    times = [0.0, *(point.seconds for point in points), ended.seconds]
    assert times == sorted(times)


def test_phases_have_the_time_of_their_work_and_add_up_to_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WorkingClock(monkeypatch)
    settings = {**NEURON, "images": 1000, "batch_size": 10, "points": 20, "evaluate_every": 35}
    events: list[Any] = []
    report = clock.taking(REPORTING, events.append)
    train("t", TrainingConfig.model_validate({"device": "cpu", **settings}), MPI.COMM_SELF, report, now=clock.now)
    evaluations = sum(isinstance(event, Evaluated) for event in events)
    phases = dict(events[-1].phases)
    assert phases.pop("evaluation") == evaluations * EVALUATING > 0
    reports = (20 + evaluations) * REPORTING
    assert phases == {"compute": 100 * COMPUTING, "update": 100 * UPDATING, "report": reports}
    assert events[-1].seconds == sum(phases.values())


@pytest.mark.parametrize("method", ["auto", "parameter-server", "ring", "hierarchical", "reduce-broadcast"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
def test_one_rank_exchanges_nothing(method: str, average: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(*_: object) -> None:
        raise AssertionError("copied to or from the host's buffer")

    for name in ("take", "give", "message", "buffer"):
        monkeypatch.setattr(Staging, name, copy)
    settings = {**NEURON, "images": 100, "batch_size": 10}
    started, points, ended = run({**settings, "exchange": {"method": method, "average": average}})
    assert set(ended.phases) == {"compute", "update", "report"}
    assert started.effective["messages"] == "none"
    assert [point.loss for point in points] == [point.loss for point in run(settings)[1]]


def test_set_up_says_what_became_of_the_settings() -> None:
    started, _, _ = run({**PICTURES, "images": 40, "batch_size": 16, "exchange": {"average": "weights"}})
    assert started.setup_seconds > 0
    assert started.effective["parameters"] == 832 + 25632 + 51264 + 36928 + 2080 + 330
    assert (started.effective["global_batch"], started.effective["steps"]) == (16, 3)
    assert started.effective["exchange"] == "none, one worker"
    assert (started.effective["precision"], started.effective["captured"]) == ("float32", False)
    assert (started.effective["device"], started.effective["threads"]) == ("cpu", 1)


def test_a_stop_ends_it_at_the_next_point() -> None:
    asked = itertools.count(1)
    _, points, ended = run({**NEURON, "images": 100, "batch_size": 10, "points": 5}, lambda: next(asked) >= 3)
    assert (ended.outcome, ended.steps, ended.images, len(points)) == ("stopped", 6, 60, 3)


def test_a_stop_at_the_last_point_comes_too_late() -> None:
    asked = itertools.count(1)
    _, points, ended = run({**NEURON, "images": 100, "batch_size": 10, "points": 5}, lambda: next(asked) >= 5)
    assert (ended.outcome, ended.images, len(points)) == ("completed", 100, 5)


def test_warming_up_leaves_no_trace_in_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**PICTURES, "images": 64, "batch_size": 16}
    warm = [point.loss for point in run(settings)[1]]
    monkeypatch.setattr("engine.learner._WARM_UP_STEPS", 0)
    assert [point.loss for point in run(settings)[1]] == warm


def test_data_that_is_nowhere_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWEEPER_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cifar10, "URL", "http://127.0.0.1:1/")
    with pytest.raises(DataError, match="data cifar10: not found in"):
        run({"data": "cifar10", "images": 10, "batch_size": 1})


def test_fused_and_torchs_layers_learn_alike() -> None:
    curves = []
    for fc in ("fused", "torch"):
        _, points, ended = run({**PICTURES, "images": 320, "batch_size": 16, "points": 5, "fc": fc})
        assert ended.images == 320
        curves.append([point.loss for point in points])
    assert curves[0] == pytest.approx(curves[1], rel=1e-3)


def test_a_rate_that_changes_is_that_of_each_step() -> None:
    settings = {**NEURON, "images": 40, "batch_size": 10, "points": 4}
    constant = run(settings)[1]
    scheduled = run({**settings, "schedule": {"kind": "step", "milestones": [0.5], "factor": 1e-9}})[1]
    assert [point.loss for point in scheduled[:3]] == [point.loss for point in constant[:3]]
    assert scheduled[3].loss != constant[3].loss


def test_bfloat16_learns_as_float32_does() -> None:
    settings = {**PICTURES, "images": 192, "batch_size": 32, "points": 3}
    exact = [point.loss for point in run(settings)[1]]
    rounded = [point.loss for point in run({**settings, "precision": "bf16"})[1]]
    assert rounded != exact
    assert rounded == pytest.approx(exact, rel=0.05)
