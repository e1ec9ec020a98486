"""Sweeps of a user's own programs, as people start them: the examples, and what becomes of failures."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from sweeper.spec.file import load_spec
from tests.processes import eventually
from tests.sweeper.cli.commands import begin, number, others, rows

EXAMPLES = Path(__file__).parents[3] / "experiments" / "bring_your_own"
SPEC = """
name: own
trial:
  command: [python, program.py, "{rate}"]
space:
  rate: [1, 2]
  workers: [1, 2]
objective: {over: images}
limits: {stall_seconds: 60}
"""
PROGRAM = """
import os, sys, time, sweeper
sweeper.start()
for step in range(5):
    sweeper.report(loss=float(sys.argv[1]) / (step + 1) / int(os.environ["WORLD_SIZE"]), images=step + 1)
"""


@pytest.mark.parametrize("executor", [pytest.param("ray", marks=pytest.mark.long), "local"])
def test_a_program_is_swept_and_ranked(executor: str, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    process = begin("run", str(spec), "--executor", executor, "--json")
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    groups = json.loads(out)["groups"]
    assert [(g["group"], g["qualified"], g["winner"]["minimum_loss"]) for g in groups] == [
        ({"workers": 1}, 2, 0.2),
        ({"workers": 2}, 2, 0.1),
    ]
    assert number(tmp_path, "SELECT COUNT(*) FROM loss_point") == 20
    assert rows(tmp_path, "SELECT DISTINCT step FROM loss_point ORDER BY step") == [(n,) for n in range(1, 6)]
    assert eventually(lambda: not others(tmp_path))


def test_a_failure_is_told_and_the_next_trial_runs(spec: Path, tmp_path: Path) -> None:
    program = "import sweeper, sys\nsweeper.report(loss=1)\nif sys.argv[1] == '1': raise ValueError('no luck')\n"
    (tmp_path / "program.py").write_text(program)
    process = begin("run", str(spec), "--executor", "local")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "2 of 4 trials failed" in err
    states = dict(rows(tmp_path, "SELECT id, state FROM trial"))
    assert sorted(states.values()) == ["completed", "completed", "failed", "failed"]
    reasons = [reason for (reason,) in rows(tmp_path, "SELECT reason FROM trial WHERE state = 'failed'")]
    assert all("ValueError: no luck" in reason for reason in reasons)


def test_an_interrupt_ends_the_program_and_resume_goes_on(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sweeper, time\nsweeper.report(loss=1)\ntime.sleep(600)\n")
    process = begin("run", str(spec), "--executor", "local")
    assert eventually(lambda: number(tmp_path, "SELECT COUNT(*) FROM loss_point") > 0, 60)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert eventually(lambda: not others(tmp_path))
    (tmp_path / "program.py").write_text(PROGRAM)
    again = begin("resume", "own", "--executor", "local")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert number(tmp_path, "SELECT COUNT(*) FROM trial WHERE state = 'completed'") == 4


@pytest.mark.parametrize("name", ["ddp", "mpi"])
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES, tmp_path / "experiments" / "bring_your_own")
    spec = f"experiments/bring_your_own/{name}.yaml"
    first = {axis: values[0] for axis, values in load_spec(Path(spec)).axes.items() if axis != "workers"}
    one_trial = [word for axis, value in first.items() for word in ("--set", f"space.{axis}=[{value}]")]
    process = begin("run", spec, "--executor", "local", "--json", "--set", "space.workers=[2]", *one_trial)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (group,) = json.loads(out)["groups"]
    assert group["trials"] == 1
    assert number(tmp_path, "SELECT COUNT(*) FROM loss_point") > 5


def test_an_interrupt_may_let_what_runs_end(spec: Path, tmp_path: Path) -> None:
    slow = "import sweeper, time\nfor step in range(4):\n    sweeper.report(loss=1)\n    time.sleep(0.5)\n"
    (tmp_path / "program.py").write_text(slow)
    process = begin("run", str(spec), "--executor", "local", "--finish-running", "--set", "space.workers=[2]")
    assert eventually(lambda: number(tmp_path, "SELECT COUNT(*) FROM loss_point") > 0, 60)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "trials that still run: 1; interrupt again to end them" in err
    states = [state for (state,) in rows(tmp_path, "SELECT state FROM trial")]
    assert sorted(states) == ["completed", "pending"]
    assert eventually(lambda: not others(tmp_path))
