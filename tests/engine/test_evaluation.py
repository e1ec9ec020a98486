"""Evaluations on the test set: when, of what, and off the clock."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine.config import TrainingConfig
from engine.data import load
from engine.evaluation import Evaluator, Quality
from engine.protocol import Ended, Evaluated, Point
from engine.sample_groups import SampleGroup
from engine.trainer import train

DIGITS = {"model": "alexnet-cifar", "data": "digits", "device": "cpu", "learning_rate": 0.05, "momentum": 0.9}
MLP = {**DIGITS, "model": "mlp", "learning_rate": 0.01}
NEURON = {"model": "neuron", "data": "step-function", "device": "cpu", "learning_rate": 0.5}


def events_of(settings: dict[str, Any]) -> list[Any]:
    events: list[Any] = []
    train("t", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append)
    return events


def evaluations(events: list[Any]) -> list[Evaluated]:
    return [event for event in events if isinstance(event, Evaluated)]


def losses(events: list[Any]) -> list[tuple[int, float]]:
    return [(event.step, event.loss) for event in events if isinstance(event, Point)]


@pytest.mark.parametrize(
    ("settings", "images"),
    [
        ({"images": 100, "batch_size": 10, "evaluate_every": 40}, [40, 80, 100]),
        ({"images": 100, "batch_size": 10, "evaluate_every": 1}, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        ({"images": 100, "batch_size": 10, "evaluate_every": 15}, [20, 30, 50, 60, 80, 90, 100]),
        ({"images": 95, "batch_size": 10, "evaluate_every": 1000}, [95]),
        ({"images": 60, "batch_size": 10}, []),
    ],
)
def test_they_come_every_so_many_images_and_at_the_end(settings: dict[str, Any], images: list[int]) -> None:
    found = evaluations(events_of({**NEURON, "points": 2, **settings}))
    assert [event.images for event in found] == images
    assert [event.step for event in found] == [math.ceil(count / 10) for count in images]


def test_they_do_not_wait_for_an_average() -> None:
    settings = {"images": 100, "batch_size": 10, "evaluate_every": 20}
    exchange = {"average": "weights", "every": 3}
    found = evaluations(events_of({**NEURON, **settings, "exchange": exchange}))
    assert [event.step for event in found] == [2, 4, 6, 8, 10]


def test_a_network_that_has_learnt_is_right_about_most_of_the_test_set() -> None:
    first, *_, last = evaluations(events_of({**MLP, "images": 4_000, "batch_size": 16, "evaluate_every": 500}))
    assert first.accuracy < last.accuracy
    assert last.accuracy > 0.9
    assert last.loss < first.loss
    assert last.took_seconds > 0


def test_accuracy_and_loss_are_of_the_whole_test_set() -> None:
    from engine.batches import HostBatches
    from engine.models import build

    data = load("digits", "test")
    torch.manual_seed(0)
    task = build(TrainingConfig.model_validate(DIGITS), data)
    quality = Evaluator(
        task, HostBatches(data), len(data), MPI.COMM_SELF, SampleGroup(0, 1), torch.device("cpu"), "float32"
    )()
    inputs = (torch.from_numpy(data.inputs).float() / 255 - data.mean[0]) / data.std[0]
    targets = torch.from_numpy(data.targets)
    with torch.no_grad():
        scores = task.module(inputs)
        loss = torch.nn.functional.cross_entropy(scores, targets).item()
    assert quality.loss == pytest.approx(loss, rel=1e-5)
    assert quality.accuracy == (scores.argmax(1) == targets).double().mean().item()
    assert isinstance(quality, Quality)


@pytest.mark.parametrize("model", ["with_dropout", "with_normalisation"])
def test_they_leave_no_trace_in_the_curve(model: str) -> None:
    """Batch normalisation and dropout are other than in training, and are put back."""
    settings = {**DIGITS, "model": f"tests.engine.small_networks:{model}", "images": 96, "batch_size": 16, "points": 6}
    without = losses(events_of(settings))
    evaluated = events_of({**settings, "evaluate_every": 16})
    assert len(evaluations(evaluated)) == 6
    assert losses(evaluated) == without


def test_they_take_no_training_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_: Evaluator) -> Quality:
        time.sleep(0.4)
        return Quality(1.0, 0.5)

    monkeypatch.setattr(Evaluator, "__call__", slow)
    events = events_of({**NEURON, "images": 200, "batch_size": 10, "evaluate_every": 50})
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert all(event.took_seconds >= 0.4 for event in evaluations(events))
    assert ended.phases["evaluation"] >= 4 * 0.4
    assert ended.seconds < ended.phases["evaluation"] - 0.4
    times = [event.seconds for event in events[1:]]
    assert times == sorted(times)


def test_a_diverged_network_is_not_evaluated() -> None:
    events = events_of({**DIGITS, "learning_rate": 1e30, "images": 160, "batch_size": 8, "evaluate_every": 160})
    assert events[-1].outcome == "diverged"
    assert not evaluations(events)
