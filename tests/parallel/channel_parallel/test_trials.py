"""Whole trials whose ranks share layers: they learn what one process learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mpi4py import MPI

from engine.channel_parallel.algorithms import divisors
from engine.config import TrainingConfig
from engine.errors import ModelError
from engine.kept import Kept
from engine.protocol import Ended, Evaluated, Point, Started
from engine.trainer import train

pytestmark = pytest.mark.parallel
WORLD = MPI.COMM_WORLD
NETWORKS = "tests.engine.small_networks"
SMALL = {"data": "digits", "learning_rate": 0.05, "momentum": 0.9, "device": "cpu", "points": "all"}
MODELS = {"dropout": f"{NETWORKS}:with_dropout", "normalisation": f"{NETWORKS}:with_normalisation"}
CHANNELS = [channels for channels in divisors(WORLD.size) if channels > 1] or [1]


def config_of(channels: int, **settings: Any) -> TrainingConfig:
    algorithm = settings.pop("algorithm", "auto")
    parallel = {"channels": channels, "algorithm": algorithm}
    return TrainingConfig.model_validate({**SMALL, "parallel": parallel, **settings})


def events_of(config: TrainingConfig, comm: MPI.Comm = WORLD, kept: Kept | None = None) -> list[Any]:
    """What rank 0 reports; nothing on the others."""
    events: list[Any] = []
    train("t", config, comm, events.append, kept=kept)
    return events


def losses(events: list[Any]) -> list[float]:
    """Of the loss points and the evaluations."""
    return [event.loss for event in events if isinstance(event, Point | Evaluated)]


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("algorithm", ["auto", "stationary-x", "stationary-y", "stationary-w"])
@pytest.mark.parametrize("model", MODELS)
def test_losses_and_evaluations_are_those_of_a_single_process(channels: int, algorithm: str, model: str) -> None:
    """The last step has one image, and so groups without any."""
    settings = {"model": MODELS[model], "images": 61, "global_batch_size": 12, "evaluate_every": 24}
    alone = events_of(config_of(1, **settings), MPI.COMM_SELF)
    shared = events_of(config_of(channels, algorithm=algorithm, **settings))
    if WORLD.rank == 0:
        assert losses(shared) == pytest.approx(losses(alone), rel=1e-4)
        assert [one.accuracy for one in shared if isinstance(one, Evaluated)] == [
            one.accuracy for one in alone if isinstance(one, Evaluated)
        ]


@pytest.mark.parametrize("channels", CHANNELS)
def test_a_residual_network_learns_what_it_learns_alone(channels: int) -> None:
    settings = {"model": "resnet-20", "images": 32, "global_batch_size": 8, "learning_rate": 0.01}
    settings |= {"augmentation": {"shift": 2, "instances": 2}, "schedule": "cosine"}
    alone = events_of(config_of(1, fc="torch", **settings), MPI.COMM_SELF)
    shared = events_of(config_of(channels, **settings))
    if WORLD.rank == 0:
        assert losses(shared) == pytest.approx(losses(alone), rel=2e-3)
        assert shared[0].effective["parameters"] == alone[0].effective["parameters"]


@pytest.mark.skipif(WORLD.size == 1, reason="needs ranks that share layers")
def test_a_batch_is_that_of_a_group_of_ranks_and_the_record_says_so() -> None:
    channels = max(CHANNELS)
    events = events_of(config_of(channels, model=MODELS["normalisation"], steps=2, batch_size=4))
    if WORLD.rank == 0:
        groups = WORLD.size // channels
        assert events[0].effective["global_batch"] == 4 * groups
        assert events[0].effective["exchange"] == "layer by layer, gradients summed"
        assert events[0].effective["parallel"] == f"layers in {channels} parts, samples in {groups}"
        assert isinstance(events[-1], Ended)
        assert events[-1].images == 8 * groups


def test_a_trial_goes_on_from_the_parts_of_a_checkpoint(tmp_path_factory: Any) -> None:
    folder = Path(WORLD.bcast(str(tmp_path_factory.mktemp("checkpoints"))))
    settings = {"model": MODELS["dropout"], "images": 160, "global_batch_size": 8, "checkpoint_every": 80}
    config = config_of(max(CHANNELS), **settings)
    points: list[Point] = []

    def report(event: object) -> None:
        points.extend([event] if isinstance(event, Point) else [])

    train("t", config, WORLD, report, lambda: bool(points) and (points[-1].images or 0) >= 104, folder)
    resumed: list[Any] = []
    train("t", config, WORLD, resumed.append, checkpoints=folder)
    whole = events_of(config)
    if WORLD.rank == 0:
        assert isinstance(resumed[0], Started)
        assert resumed[0].effective["resumed_at_step"] == 10
        assert losses(resumed) == losses(whole)


def test_a_curve_does_not_depend_on_what_the_ranks_have_kept() -> None:
    kept = Kept(WORLD)
    trials: list[dict[str, Any]] = [{}, {"seed": 4}, {"model": MODELS["dropout"]}, {"parallel": {}}, {"seed": 4}]
    for changes in trials:
        given: dict[str, Any] = {"model": MODELS["normalisation"], "images": 48, "global_batch_size": 12, **changes}
        config = config_of(max(CHANNELS), **given)
        assert losses(events_of(config, kept=kept)) == losses(events_of(config))


@pytest.mark.skipif(WORLD.size == 1, reason="needs ranks that share layers")
def test_a_layer_that_cannot_be_split_is_named() -> None:
    config = config_of(max(CHANNELS), model="tests.engine.small_networks:with_groups", steps=1)
    with pytest.raises(ModelError, match=r"'1'.*groups"):
        events_of(config)
