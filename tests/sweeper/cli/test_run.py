"""`sweeper run` as people start it: real MPI, real Ray, a real terminal's interrupt."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from cuda_ext import artifact
from sweeper.cli.main import main
from tests.processes import eventually, processes_with, words_of
from tests.sweeper.cli.commands import ENDLESS, TAG, begin, here, others, rows
from tests.sweeper.cli.commands import number as number_of

SPEC = """
name: small
trial: {model: neuron, data: step-function, images: 640, points: 10}
space:
  batch_size: [16, 32]
  learning_rate: [0.1, 0.5]
  workers: [1, 2]
objective: {threshold: 0.5}
"""
INSTALLED = str(Path(sys.executable).with_name("sweeper"))


@pytest.mark.parametrize("executor", ["ray", "local"])
def test_a_sweep_runs_to_its_end_and_the_areas_are_those_of_its_points(
    executor: str, spec: Path, tmp_path: Path
) -> None:
    process = begin("run", str(spec), "--executor", executor, "--json")
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    answer = json.loads(out)
    assert answer["name"] == "small"
    assert [(g["group"], g["trials"], g["qualified"]) for g in answer["groups"]] == [
        ({"workers": 1}, 4, 4),
        ({"workers": 2}, 4, 4),
    ]
    assert "[8/8]" in err
    recomputed = {}
    for trial, area, minimum in rows(tmp_path, "SELECT id, area_seconds, minimum_loss FROM trial"):
        points = rows(tmp_path, f"SELECT seconds, loss FROM loss_point WHERE trial_id = '{trial}' ORDER BY step")
        assert len(points) == 10
        (begun, first), *_ = points
        total = begun * first + sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(points))
        assert area == pytest.approx(total, rel=1e-12)
        assert minimum == min(loss for _, loss in points)
        recomputed[trial] = area
    for group in answer["groups"]:
        rivals = [t for t, w in rows(tmp_path, "SELECT id, workers FROM trial") if w == group["group"]["workers"]]
        assert group["winner"]["trial"] == min(rivals, key=lambda t: recomputed[t])
    assert {"compute", "all-reduce", "update", "report"} <= {
        n for (n,) in rows(tmp_path, "SELECT DISTINCT name FROM phase")
    }
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.parametrize(
    ("number", "executor"),
    [
        (signal.SIGINT, "ray"),
        (signal.SIGINT, "local"),
        pytest.param(signal.SIGTERM, "local", marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, "local", marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, "ray", marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, "ray", marks=pytest.mark.long),
    ],
)
def test_an_interrupt_leaves_no_process_and_a_store_that_lists_what_was_done(
    executor: str, number: signal.Signals, spec: Path, tmp_path: Path
) -> None:
    process = begin("run", str(spec), "--executor", executor, *ENDLESS)
    written = "SELECT count(*) FROM loss_point"
    assert eventually(lambda: bool(number_of(tmp_path, written)), 90)
    # A terminal sends it to the whole group, and impatient people send it twice.
    os.killpg(process.pid, number)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted: 0 of 8 trials ended" in out
    assert "Traceback" not in err
    assert eventually(lambda: not others(tmp_path)), others(tmp_path)
    assert rows(tmp_path, "SELECT DISTINCT state FROM trial") == [("pending",)]
    assert {state for (state,) in rows(tmp_path, "SELECT state FROM attempt")} == {"interrupted"}
    assert number_of(tmp_path, written) > 0
    assert "interrupted" in here("list")[0]
    assert "pending: interrupted" in here("show", "small")[0]


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL])
def test_an_end_while_ray_starts_leaves_nothing(number: signal.Signals, spec: Path, tmp_path: Path) -> None:
    process = begin("run", str(spec))
    assert eventually(lambda: any("gcs_server" in name for name in names(tmp_path)), 60)
    folders = {arguments[arguments.index("--folder") + 1] for arguments in heads(tmp_path)}
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert eventually(lambda: not others(tmp_path)), others(tmp_path)
    assert len(folders) == 1
    assert not any(map(os.path.exists, folders))


def names(tmp_path: Path) -> list[str]:
    return [Path(words[0]).name for p in processes_with(TAG, str(tmp_path)) if (words := words_of(p))]


def heads(tmp_path: Path) -> list[list[str]]:
    lines = [words_of(p) for p in processes_with(TAG, str(tmp_path))]
    return [line for line in lines if "sweeper.gangs.ray.driver" in line]


def test_an_interrupt_is_met_also_where_a_script_started_it_in_the_background(spec: Path, tmp_path: Path) -> None:
    command = " ".join([sys.executable, "-m", "sweeper.cli", "run", str(spec), "--executor", "local", *ENDLESS])
    script = f"{command} & echo $!; wait $!; echo code $?"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    assert eventually(lambda: bool(number_of(tmp_path, "SELECT count(*) FROM loss_point")), 90)
    os.kill(pid, signal.SIGINT)
    assert "code 130" in shell.communicate(timeout=60)[0]
    assert eventually(lambda: not others(tmp_path)), others(tmp_path)


def test_on_a_terminal_progress_is_live(spec: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sweeper.cli", "run", str(spec), "--executor", "local"],
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            block = os.read(controller, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not block:
            break
        shown += block
    assert process.wait(timeout=200) == 0
    text = shown.decode()
    assert "8/8" in text
    assert "running" in text
    assert "leader" in text
    assert "\x1b[" in text  # it is redrawn in place
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--set", "trial.imagse=1"], 1, "trial.imagse: unknown key; did you mean images?"),
        ([*ENDLESS, "--set", "space.workers=[1000]"], 1, "space.workers: 1000 cannot be seated"),
        (["--set", "trial.device=cuda"], 1, "resources.gpus_per_worker: 0 and device cuda exclude each other"),
        (["--set", "name=latest"], 1, "name: 'latest': stands for the newest sweep; give another name"),
        (["--set", "trial.images=8"], 1, "trial.images: 8 is too small for one step of the largest global batch, 64"),
        (["--store", "sqlite:////no/such/folder/x.db"], 1, "there is no folder /no/such/folder"),
        (["--executor", "cloud"], 2, "'cloud' is not one of"),
        (["--executor", "slurm"], 1, "--executor slurm: this is not a SLURM allocation"),
        (["--again", "--resume"], 2, "--again makes another sweep, and --resume goes on with one"),
        (["--executor", "local", "--ray-address", "x"], 2, "--ray-address goes with --executor ray only"),
        (["--autoscale", "2x4"], 2, "--autoscale goes with --ray-address only"),
        (["--autoscale", "2"], 2, "'2' is not a cluster size; write 8x16, or 8x16x4 with GPUs"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_recorded(
    arguments: list[str], code: int, message: str, spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", str(spec), *arguments])
    assert left.value.code == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sweeper.db").exists()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SWEEPER_MPIEXEC", "/no/mpiexec", "/no/mpiexec cannot be run"),
        ("SWEEPER_LOGS", "/proc/none", "SWEEPER_LOGS: /proc/none cannot hold logs"),
        ("SWEEPER_LOG", "loud", "SWEEPER_LOG: 'loud' is no level; use one of"),
    ],
)
def test_a_setting_that_cannot_work_is_told_before_anything_is_recorded(
    variable: str,
    value: str,
    message: str,
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as left:
        main(["run", str(spec), "--executor", "local"])
    assert left.value.code == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sweeper.db").exists()


def test_failed_trials_are_an_error(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken-mpiexec"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo HYDRA && exit\necho "no luck" >&2; exit 3\n')
    broken.chmod(0o755)
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(broken))
    process = begin("run", str(spec), "--executor", "local")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "8 of 8 trials failed" in err
    assert "failed" in out
    assert {state for (state,) in rows(tmp_path, "SELECT state FROM trial")} == {"failed"}
    assert all("exit code 3" in str(reason) for (reason,) in rows(tmp_path, "SELECT reason FROM trial"))


def test_missing_operators_are_refused_before_anything_starts(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(artifact, "problem", lambda: "the compiled operators are missing")
    pictures = ["--set", "trial.model=alexnet-cifar", "--set", "trial.data=digits"]
    with pytest.raises(SystemExit) as exited:
        main(["run", str(spec), *pictures])
    assert exited.value.code == 1
    said = capsys.readouterr().err
    assert said.strip() == (
        "error: the compiled operators are missing; run `python -m cuda_ext.build`, or set trial.fc to torch"
    )
    assert not (spec.parent / "sweeper.db").exists()


OWN = """
import os, signal
from pathlib import Path
import numpy as np
from torch import nn
from engine.data import DataSet

class Network(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], classes))
        self.steps = 0

    def forward(self, pictures):
        self.steps += self.training
        marker = Path(__file__).with_name(f"died-{os.environ.get('PMI_SIZE', '')}")
        if self.steps == 60 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.layers(pictures)

def pictures(split):
    random = np.random.default_rng(0)
    targets = random.integers(0, 2, 256)
    inputs = (random.integers(0, 128, (256, 1, 4, 4)) + 100 * targets[:, None, None, None]).astype(np.uint8)
    return DataSet("mine", inputs, targets, classes=2, mean=(0.5,), std=(0.25,))
"""
OWN_SPEC = """
name: own
trial:
  {model: "mine:Network", data: "mine:pictures", images: 3200, batch_size: 32, evaluate_every: 1600,
   checkpoint_every: 640, points: 20}
space: {workers: [1]}
retries: 1
"""


@pytest.mark.parametrize("executor", [pytest.param("ray", marks=pytest.mark.long), "local"])
def test_a_model_of_ones_own_that_dies_goes_on_from_its_checkpoint(executor: str, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    spec.write_text(OWN_SPEC)
    process = begin("run", str(spec), "--executor", executor, command=(INSTALLED,))
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    states = rows(tmp_path, "SELECT state FROM attempt ORDER BY number")
    assert states == [("failed",), ("completed",)]
    ((first, reason), (second, _)) = rows(tmp_path, "SELECT effective, reason FROM attempt ORDER BY number")
    assert "killed by signal 9" in reason
    assert "resumed_at_step" not in json.loads(first)
    assert json.loads(second)["resumed_at_step"] == 40
    assert [s for (s,) in rows(tmp_path, "SELECT step FROM loss_point WHERE attempt = 2 ORDER BY step")] == [
        *range(5, 105, 5)
    ]
    assert [s for (s,) in rows(tmp_path, "SELECT step FROM evaluation WHERE attempt = 2 ORDER BY step")] == [50, 100]
    assert rows(tmp_path, "SELECT accuracy > 0.9 FROM evaluation WHERE attempt = 2 AND step = 100") == [(1,)]
    assert not [*(tmp_path / "sweeper-logs").rglob("*.checkpoints")]
    assert eventually(lambda: not others(tmp_path))


def test_a_model_that_is_nowhere_is_refused_before_anything_starts(spec: Path, tmp_path: Path) -> None:
    process = begin("run", str(spec), "--set", "trial.model=nowhere:network")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.splitlines() == [
        "error: trial.model: 'nowhere:network': there is no module nowhere; "
        "run from the folder that holds it, or put that folder on PYTHONPATH"
    ]
    assert not (tmp_path / "sweeper.db").exists()
