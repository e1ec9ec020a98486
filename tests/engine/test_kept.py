"""What a gang keeps from trial to trial: used where it fits, and without a trace in the curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine import kept as kept_module
from engine import trainer
from engine.config import TrainingConfig
from engine.data import DataSet, synthetic
from engine.kept import Kept
from engine.protocol import Evaluated, Point, Started
from engine.trainer import train

CPU = torch.device("cpu")
PICTURES = {"model": "alexnet-cifar", "data": "digits", "images": 200, "batch_size": 16, "points": 4, "device": "cpu"}
SMALL = {"model": "mlp", "data": "digits", "images": 100, "batch_size": 16, "points": 4, "device": "cpu"}
NETWORKS = "tests.engine.small_networks"


def told(settings: dict[str, Any], kept: Kept) -> list[tuple[Any, ...]]:
    """All losses and evaluations of a trial."""
    events: list[Any] = []
    train("t", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append, kept=kept)
    assert isinstance(events[0], Started)
    points = [(e.step, e.images, e.loss) for e in events if isinstance(e, Point)]
    return points + [(e.step, e.loss, e.accuracy) for e in events if isinstance(e, Evaluated)]


ORDERS: list[Any] = [
    # What a learner takes on anew, one after another, and back.
    [
        PICTURES,
        {**PICTURES, "learning_rate": 0.02},
        {**PICTURES, "seed": 7},
        {**PICTURES, "weight_decay": 0.01, "schedule": {"kind": "cosine", "warm_up": 0.2}},
        {**PICTURES, "images": 230, "points": "all"},
        {**PICTURES, "evaluate_every": 64},
        PICTURES,
    ],
    # With and without momentum, and its value.
    [{**SMALL, "momentum": m, "seed": s} for m, s in ((0.9, 0), (0.0, 1), (0.5, 2), (0.9, 0))],
    # Other shapes in between, one that never takes a full step, and one after a divergence.
    [
        SMALL,
        {**SMALL, "batch_size": 8},
        {**SMALL, "images": 10},
        {**SMALL, "learning_rate": 1e30},
        SMALL,
        {**SMALL, "fc": "torch"},
    ],
    # What draws: Dropout, augmentation, and means that are kept by normalisation.
    [{**PICTURES, "augmentation": {"flip": True, "shift": 1}, "seed": seed} for seed in (1, 2, 1)],
    pytest.param(
        [{**PICTURES, "model": "vgg11", "data": "synthetic", "images": 16, "seed": seed} for seed in (1, 2)],
        marks=pytest.mark.long,
    ),
    [{**PICTURES, "model": "resnet-20", "images": 32, "evaluate_every": 32, "seed": seed} for seed in (1, 2, 1)],
    # The user's own, which may hold more than their tensors show.
    [{**SMALL, "model": f"{NETWORKS}:with_dropout", "seed": seed} for seed in (1, 2, 1)],
]


@pytest.mark.parametrize("order", ORDERS)
def test_a_curve_does_not_depend_on_what_was_trained_before(order: Sequence[dict[str, Any]]) -> None:
    kept = Kept(MPI.COMM_SELF)
    for settings in order:
        assert str(told(settings, kept)) == str(told(settings, Kept(MPI.COMM_SELF)))


def test_trials_of_a_shape_share_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("engine.run.Learner", watched(made, "engine.run.Learner"))
    kept = Kept(MPI.COMM_SELF)
    for changes in ({}, {"learning_rate": 0.3, "seed": 2}, {"images": 300, "evaluate_every": 50}):
        told({**SMALL, **changes}, kept)
    assert len(made) == 1
    for changes in ({"batch_size": 32}, {"momentum": 0.9}, {"momentum": 0.5, "weight_decay": 0.1}, {}):
        told({**SMALL, **changes}, kept)
    assert len(made) == 3


def test_networks_of_the_users_own_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("engine.run.Learner", watched(made, "engine.run.Learner"))
    kept = Kept(MPI.COMM_SELF)
    for seed in (1, 2):
        told({**SMALL, "model": f"{NETWORKS}:with_dropout", "seed": seed}, kept)
    assert len(made) == 2


def watched(made: list[Any], name: str) -> Any:
    """What `name` is, noting each that is made."""
    module, _, attribute = name.rpartition(".")
    import importlib

    original = getattr(importlib.import_module(module), attribute)

    def making(*args: Any, **named: Any) -> Any:
        made.append(original(*args, **named))
        return made[-1]

    return making


def test_data_is_loaded_once_unless_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(name: str, split: str) -> DataSet:
        loaded.append(name)
        if name == "own:drawn":
            torch.rand(1)
        return synthetic.load_step_function(split)

    monkeypatch.setattr(kept_module, "load", load)
    kept = Kept(MPI.COMM_SELF)
    for name in ("digits", "own:same", "own:drawn"):
        both = [kept.loaded(name, "train", CPU, 3) for _ in range(2)]
        assert (both[0] is both[1]) == (name != "own:drawn")
        assert all(one.lasting == (name != "own:drawn") for one in both)
        assert kept.loaded(name, "test", CPU, 3) is not both[0]
        assert (kept.loaded(name, "train", CPU, 4) is both[0]) == (name == "digits"), "it may depend on the seed"
    assert [loaded.count(name) for name in ("digits", "own:same", "own:drawn")] == [2, 3, 4]
    assert len(kept) == 4, "of one seed only"


def test_data_that_depends_on_the_seed_without_drawing_is_of_its_own_seed() -> None:
    kept = Kept(MPI.COMM_SELF)
    own = {**SMALL, "data": "tests.engine.drawn_data:seeded"}
    for changes in ({"seed": 1}, {"seed": 1, "learning_rate": 0.02}, {"seed": 2}, {"seed": 1}):
        assert told({**own, **changes}, kept) == told({**own, **changes}, Kept(MPI.COMM_SELF))


def test_a_full_gpu_is_emptied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, tries = Kept(MPI.COMM_SELF), []
    told(SMALL, kept)
    config = TrainingConfig.model_validate({**SMALL, "batch_size": 64})
    real = trainer._ready

    def full(*given: Any) -> Any:
        tries.append(len(kept))
        if len(tries) < 2:
            raise torch.OutOfMemoryError("full")
        return real(*given)

    monkeypatch.setattr(trainer, "_ready", full)
    trainer.set_up(config, MPI.COMM_SELF, kept)
    assert tries == [2, 0]
    monkeypatch.setattr(trainer, "_ready", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("full")))
    with pytest.raises(torch.OutOfMemoryError):
        trainer.set_up(config, MPI.COMM_SELF, Kept(MPI.COMM_SELF))
    with pytest.raises(torch.OutOfMemoryError):
        trainer.set_up(config, MPI.COMM_SELF, kept)
    assert len(kept) == 0


def test_the_least_recently_used_learners_go_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("engine.run.Learner", watched(made, "engine.run.Learner"))
    kept = Kept(MPI.COMM_SELF)
    told({**SMALL, "batch_size": 8}, kept)
    monkeypatch.setattr(kept_module, "_MOST_ON_HOST", 2 * 4 * len(made[0].flat))  # two, and one more is made
    for batch in (16, 32, 8, 64, 8, 32, 16):
        told({**SMALL, "batch_size": batch}, kept)
    assert [learner.config.batch_size for learner in made] == [8, 16, 32, 64, 16]
    assert len(kept._learners) == 3


def test_all_that_is_kept_can_be_given_back() -> None:
    kept = Kept(MPI.COMM_SELF)
    curve = told(SMALL, kept)
    assert len(kept) == 2
    kept.give_back()
    assert len(kept) == 0
    assert told(SMALL, kept) == curve
