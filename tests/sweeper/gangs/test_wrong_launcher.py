"""A launcher whose MPI is not that of the ranks: it starts processes that do not know of each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import TrainingConfig
from engine.protocol import Event, Failed, Ready
from sweeper.gangs.base import Job
from sweeper.gangs.gang import open_gang
from sweeper.gangs.launcher import VARIABLE
from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_TAG"
LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then echo "HYDRA build details:"; exit; fi
count=$2
shift 2
for number in $(seq $count); do "$@" & done
wait
"""


def run(folder: Path, config: dict[str, Any], workers: int, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """All events of a job under a launcher that starts processes, and tells them nothing; none of them is left."""
    launcher = folder / "mpiexec"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(launcher))
    monkeypatch.setenv(TAG, str(folder))
    job = Job("t", 1, workers, 1, 0, config, str(folder / "gang.log"))
    gang = open_gang(job)
    events = [happened.event for happened in gang.run(job)]
    gang.close()
    assert eventually(lambda: not list(processes_with(TAG, str(folder))))
    return events


CONFIGS = {
    "training": TrainingConfig(model="neuron", data="step-function", images=320, fc="torch").model_dump(mode="json"),
    "command": {"command": ["sleep", "600"]},
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_separate_worlds_are_named_at_once_with_the_launcher_and_the_remedy(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, failed = run(tmp_path, CONFIGS[kind], 2, monkeypatch)
    assert before == []
    assert isinstance(failed, Failed)
    words = "starts 2 processes in separate worlds of one rank, and not one world of 2"
    assert failed.reason == f"{tmp_path / 'mpiexec'} {words}"
    assert VARIABLE in failed.remedy


def test_one_worker_needs_no_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, *_, failed = run(tmp_path, {"command": ["true"]}, 1, monkeypatch)
    assert isinstance(ready, Ready)
    assert isinstance(failed, Failed)
    assert "ended without a loss" in failed.reason
