"""Networks whose kernels torch.compile makes."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
import torch
from mpi4py import MPI

from engine.compiled import CompileError, compiled
from engine.config import TrainingConfig
from engine.protocol import Point
from engine.trainer import train

SETTINGS = {"model": "mlp", "data": "digits", "device": "cpu", "learning_rate": 0.05, "points": 6}


def losses(**changes: Any) -> list[float]:
    events: list[Any] = []
    train("t", TrainingConfig.model_validate({**SETTINGS, **changes}), MPI.COMM_SELF, events.append)
    return [event.loss for event in events if isinstance(event, Point)]


def test_a_compiled_network_learns_the_same() -> None:
    run = {"images": 90, "batch_size": 16}  # with a last step of another size
    torch.compiler.reset()
    assert losses(**run, compile=True) == pytest.approx(losses(**run), rel=1e-4)
    counters = torch._dynamo.utils.counters
    assert counters["stats"]["unique_graphs"] >= 1


def test_without_a_compiler_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CompileError, match=r"trial.compile: true, and no C\+\+ compiler is there; install g\+\+"):
        compiled(torch.nn.Linear(1, 1))
