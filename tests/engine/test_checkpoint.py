"""A trial that is interrupted and goes on from its checkpoint: the same curve, and the clock of that moment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine.checkpoint import Checkpoints, Moment
from engine.config import TrainingConfig
from engine.protocol import Ended, Evaluated, Point, Started
from engine.trainer import train

NEURON = {"model": "neuron", "data": "step-function", "learning_rate": 0.5, "momentum": 0.9, "points": 20}
PICTURES = {"model": "alexnet-cifar", "data": "digits", "learning_rate": 0.05, "momentum": 0.9, "points": 20}
# Dropout draws, batch normalisation keeps means, the rate moves, the pictures are augmented.
OWN = "tests.engine.small_networks"
DROPOUT = {
    **PICTURES,
    "model": f"{OWN}:with_dropout",
    "schedule": "cosine",
    "augmentation": {"shift": 2, "instances": 2},
}
NORMALISED = {**PICTURES, "model": f"{OWN}:with_normalisation", "evaluate_every": 64}


class DeadGangError(Exception):
    """What ends a trial without its own doing."""


def run(settings: dict[str, Any], folder: Path | None, die_at: int | None = None) -> list[Any]:
    """What is reported, up to the point of `die_at` images where the trial then dies."""
    events: list[Any] = []

    def report(event: Any) -> None:
        events.append(event)
        if isinstance(event, Point) and event.images == die_at:
            raise DeadGangError

    config = TrainingConfig.model_validate({"device": "cpu", **settings})
    if die_at is None:
        train("t", config, MPI.COMM_SELF, report, checkpoints=folder)
    else:
        with pytest.raises(DeadGangError):
            train("t", config, MPI.COMM_SELF, report, checkpoints=folder)
    return events


def told(events: list[Any]) -> list[tuple[str, int, float]]:
    return [(event.kind, event.images or 0, event.loss) for event in events if isinstance(event, Point | Evaluated)]


@pytest.mark.parametrize("settings", [NEURON, PICTURES, DROPOUT, NORMALISED], ids=["neuron", "cnn", "dropout", "norm"])
def test_it_goes_on_from_its_last_checkpoint_as_if_nothing_had_been(settings: dict[str, Any], tmp_path: Path) -> None:
    settings = {**settings, "images": 160, "batch_size": 8, "checkpoint_every": 40}
    whole = run(settings, tmp_path / "whole")
    first = run(settings, tmp_path / "broken", die_at=104)
    second = run(settings, tmp_path / "broken")
    started, *_, ended = second
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert started.effective["resumed_at_step"] == 80 // 8
    assert "resumed_at_step" not in whole[0].effective
    assert told(second) == told(whole)
    assert ended.outcome == "completed"
    # What had been reported until the checkpoint is reported with the times that it had.
    early = [event for event in first if isinstance(event, Point | Evaluated) and (event.images or 0) <= 80]
    assert second[1 : len(early) + 1] == early
    times = [event.seconds for event in second[1:]]
    assert times == sorted(times)


def test_the_clock_goes_on_from_the_checkpoints(tmp_path: Path) -> None:
    settings = {**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 80}
    run(settings, tmp_path, die_at=120)
    latest = tmp_path / "latest.json"
    content = json.loads(latest.read_text())
    assert content["step"] == 10
    latest.write_text(json.dumps({**content, "seconds": 1000.0}))
    points = [event for event in run(settings, tmp_path) if isinstance(event, Point)]
    assert all(point.seconds < 1 for point in points if (point.images or 0) <= 80)
    assert all(1000 < point.seconds < 1060 for point in points if (point.images or 0) > 80)


def test_a_trial_that_is_over_leaves_no_checkpoint(tmp_path: Path) -> None:
    run({**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 8}, tmp_path / "a")
    run({**PICTURES, "images": 800, "batch_size": 8, "checkpoint_every": 8, "learning_rate": 1e30}, tmp_path / "b")
    assert not [*tmp_path.iterdir()]


def test_a_trial_that_was_stopped_keeps_it(tmp_path: Path) -> None:
    config = TrainingConfig.model_validate({**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 8})
    asked = iter([False, False, False, True])
    train("t", config, MPI.COMM_SELF, lambda _: None, lambda: next(asked), tmp_path)
    assert json.loads((tmp_path / "latest.json").read_text())["step"] == 3


def test_only_the_latest_is_kept(tmp_path: Path) -> None:
    run({**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 8}, tmp_path, die_at=120)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest.json", "step-14"]


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda folder: (folder / "latest.json").write_text("{"), id="half a note"),
        pytest.param(lambda folder: (folder / "latest.json").write_text("[]"), id="another note"),
        pytest.param(lambda folder: (folder / "latest.json").unlink(), id="no note"),
        pytest.param(lambda folder: (folder / "step-10" / "rank-0.pt").write_bytes(b"PK\3\4"), id="half a state"),
        pytest.param(lambda folder: shutil.rmtree(folder / "step-10"), id="no state"),
    ],
)
def test_a_damaged_checkpoint_is_as_none(harm: Any, tmp_path: Path) -> None:
    settings = {**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 80}
    run(settings, tmp_path, die_at=120)
    harm(tmp_path)
    events = run(settings, tmp_path)
    assert "resumed_at_step" not in events[0].effective
    assert told(events) == told(run(settings, None))


def test_other_settings_do_not_go_on_from_it(tmp_path: Path) -> None:
    settings = {**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 80}
    run(settings, tmp_path, die_at=120)
    other = {**settings, "learning_rate": 0.25}
    assert told(run(other, tmp_path)) == told(run(other, None))


def test_what_interrupts_the_writing_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = Checkpoints(tmp_path, MPI.COMM_SELF, "digest")
    checkpoints.save(Moment(1, 0.5), {"x": torch.tensor(1.0)})

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", fail)
        with pytest.raises(OSError, match="no space"):
            checkpoints.save(Moment(2, 1.0), {"x": torch.tensor(2.0)})
    found = checkpoints.load(torch.device("cpu"))
    assert found is not None
    assert (found[0], found[1]["x"].item()) == (Moment(1, 0.5), 1.0)


def test_it_takes_no_training_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    save = Checkpoints.save

    def slow(self: Checkpoints, moment: Moment, state: dict[str, Any]) -> None:
        time.sleep(0.3)
        save(self, moment, state)

    monkeypatch.setattr(Checkpoints, "save", slow)
    ended = run({**NEURON, "images": 160, "batch_size": 8, "checkpoint_every": 40}, tmp_path)[-1]
    assert ended.phases["checkpoint"] >= 3 * 0.3
    assert ended.seconds < ended.phases["checkpoint"] - 0.3
