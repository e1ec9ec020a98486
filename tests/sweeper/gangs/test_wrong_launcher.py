"""A launcher whose MPI is not that of the ranks: it starts processes that do not know of each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config import TrainingConfig
from engine.protocol import Event, Failed, Ready
from sweeper.errors import LaunchError
from sweeper.execution import Execution, prepare_sweep
from sweeper.gangs.base import Job
from sweeper.gangs.gang import open_gang
from sweeper.gangs.launcher import VARIABLE
from sweeper.gangs.worlds import check_one_world
from sweeper.spec import parse_spec
from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_TAG"
LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then echo "HYDRA build details:"; exit; fi
count=$2
shift 2
exec 3<&0
for number in $(seq $count); do "$@" <&3 & done
wait
"""


def use(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = LAUNCHER) -> Path:
    """Have gangs started by a launcher that starts processes, and tells them nothing."""
    launcher = folder / "mpiexec"
    launcher.write_text(script)
    launcher.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(launcher))
    return launcher


def run(
    folder: Path, config: dict[str, Any], workers: int, monkeypatch: pytest.MonkeyPatch, script: str = LAUNCHER
) -> list[Event]:
    """All events of a job under such a launcher; nothing of it is left."""
    use(folder, monkeypatch, script)
    monkeypatch.setenv(TAG, str(folder))
    job = Job("t", 1, workers, 1, 0, config, str(folder / "gang.log"))
    gang = open_gang(job)
    events = [happened.event for happened in gang.run(job)]
    gang.close()
    assert eventually(lambda: not list(processes_with(TAG, str(folder))))
    return events


DEAF = LAUNCHER.replace(" <&3", "")  # its processes have no standard input, and take it for the supervisor's end
CONFIGS = {
    "training": TrainingConfig(model="neuron", data="step-function", images=320, fc="torch").model_dump(mode="json"),
    "command": {"command": ["sleep", "600"]},
}


@pytest.mark.parametrize(("kind", "script"), [("training", LAUNCHER), ("command", LAUNCHER), ("command", DEAF)])
def test_separate_worlds_are_named_at_once_with_the_launcher_and_the_remedy(
    kind: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, failed = run(tmp_path, CONFIGS[kind], 2, monkeypatch, script)
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


def test_it_is_named_before_trials_of_one_worker_have_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_one_world()
    launcher = use(tmp_path, monkeypatch)
    with pytest.raises(LaunchError) as caught:
        check_one_world()
    assert caught.value.message.startswith(f"{launcher} starts 2 processes in separate worlds of one rank")
    monkeypatch.chdir(tmp_path)
    trial = {"model": "neuron", "data": "step-function", "fc": "torch"}
    both, one = (parse_spec({"name": "n", "trial": trial, "space": {"workers": workers}}) for workers in ([1, 2], [1]))
    here = Execution("local", None, finish_running=False, oversubscribe=True)
    with pytest.raises(LaunchError, match="separate worlds"):
        prepare_sweep(both, here)
    assert len(prepare_sweep(one, here).trials) == 1
