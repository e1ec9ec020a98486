"""Whole trials over any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Ended, Point, Started
from engine.trainer import train
from tests.parallel.alone import losses_of_points

pytestmark = pytest.mark.parallel
WORLD = MPI.COMM_WORLD
NEURON = {"model": "neuron", "data": "step-function", "learning_rate": 0.5, "device": "cpu"}
PICTURES = {"model": "alexnet-cifar", "data": "digits", "learning_rate": 0.05, "device": "cpu", "momentum": 0.9}


def run(
    config: TrainingConfig, comm: MPI.Comm = WORLD, stop_asked: Callable[[], bool] = lambda: False
) -> tuple[list[Point], Ended | None]:
    """The points and the end that rank 0 reports; nothing on the others."""
    events: list[Started | Point | Ended] = []
    train("t", config, comm, events.append, stop_asked)
    if comm.rank != 0:
        assert events == []
        return [], None
    started, *points, ended = events
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    return [point for point in points if isinstance(point, Point)], ended


@pytest.mark.parametrize("average", ["gradients", "weights"])
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**NEURON, "images": 640, "batch_size": 16}, id="even"),
        pytest.param({**NEURON, "images": 101, "global_batch_size": 10}, id="uneven, with a last step of one image"),
        pytest.param({**NEURON, "images": 12, "global_batch_size": 1}, id="fewer images than ranks"),
        pytest.param({**NEURON, "images": 400, "batch_size": 5, "momentum": 0.9, "weight_decay": 0.01}, id="momentum"),
        pytest.param({**PICTURES, "images": 70, "global_batch_size": 16}, id="pictures"),
    ],
)
def test_losses_are_those_of_a_single_process(settings: dict[str, object], average: str) -> None:
    config = TrainingConfig.model_validate({**settings, "exchange": {"average": average}, "seed": 3})
    points, ended = run(config)
    if ended is not None:
        assert (ended.outcome, ended.images, ended.steps) == ("completed", config.images, config.steps(WORLD.size))
        assert [point.loss for point in points] == pytest.approx(losses_of_points(config, WORLD.size), rel=2e-4)


@pytest.mark.parametrize("average", ["gradients", "weights"])
@pytest.mark.parametrize("settings", [{**NEURON, "images": 203}, {**PICTURES, "images": 45}])
def test_a_trial_gives_the_same_losses_again(settings: dict[str, object], average: str) -> None:
    config = TrainingConfig.model_validate(
        {**settings, "global_batch_size": 10, "exchange": {"average": average}, "seed": 3}
    )
    found = [[(p.step, p.images, p.loss) for p in run(config)[0]] for _ in range(2)]
    assert found[0] == found[1]
    assert WORLD.rank != 0 or len(found[0]) == config.steps(WORLD.size)


def test_rank_0_decides_about_stopping() -> None:
    config = TrainingConfig.model_validate({**NEURON, "images": 200, "global_batch_size": 10})
    _, ended = run(config, stop_asked=lambda: WORLD.rank != 0)
    assert ended is None or ended.outcome == "completed"
    _, ended = run(config, stop_asked=lambda: WORLD.rank == 0)
    assert ended is None or (ended.outcome, ended.steps, ended.images) == ("stopped", 1, 10)


def test_divergence_ends_it_on_every_rank() -> None:
    config = TrainingConfig.model_validate({**PICTURES, "images": 400, "global_batch_size": 8, "learning_rate": 1e30})
    points, ended = run(config)
    if ended is not None:
        assert ended.outcome == "diverged"
        assert not math.isfinite(points[-1].loss)
        assert all(math.isfinite(point.loss) for point in points[:-1])
    assert WORLD.allreduce(1) == WORLD.size, "everybody is here"


def test_several_trials_may_share_the_ranks(comm: MPI.Comm) -> None:
    config = TrainingConfig.model_validate({**NEURON, "images": 50, "global_batch_size": 10})
    points, _ = run(config, comm)
    assert comm.rank != 0 or [p.loss for p in points] == pytest.approx(losses_of_points(config, comm.size), rel=2e-4)
