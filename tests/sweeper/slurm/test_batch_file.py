"""The file is one that SLURM takes, and it runs the sweep there: to its end, and on after a requeue."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sweeper.errors import StoreError, UsageError
from sweeper.plan.trial import TrialState
from sweeper.slurm import Allocation, BatchFile
from sweeper.store import SweepRecord, read_store
from tests.processes import eventually
from tests.sweeper.slurm.site import SlurmSite

SPEC = """
name: tiny's sweep
trial: {model: neuron, data: step-function, images: 400}
space: {workers: [1, 2], batch_size: [10], learning_rate: [0.1]}
"""
LIMIT_S = 240.0  # two Rays that start on busy cores


def batch_file(**changes: object) -> BatchFile:
    allocation = Allocation(2, 4, 1, 4 * 3600, "long", "physics")
    settings = {"name": "s", "spec": Path("/s.yaml"), "overrides": (), "store_url": "sqlite:///s.db"}
    return BatchFile(**{**settings, "allocation": allocation, **changes})  # type: ignore[arg-type]


def written(folder: Path, *options: str) -> Path:
    """The file of the SPEC, made as people make it."""
    (folder / "sweep.yaml").write_text(SPEC)
    command = [sys.executable, "-m", "sweeper.cli", "slurm", "sweep.yaml", "-o", "sweep.sbatch", *options]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "sweep.sbatch"


def sweep_in(folder: Path) -> SweepRecord | None:
    """The folder's sweep; None until its store is made."""
    try:
        with closing(read_store(f"sqlite:///{folder}/sweeper.db")) as store:
            return next(iter(store.sweeps.all()), None)
    except StoreError:
        return None


def test_the_directives_say_what_is_asked_for() -> None:
    lines = batch_file().text().splitlines()
    assert lines[0] == "#!/bin/bash"
    asked = {line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")}
    assert asked >= {
        "--nodes=2",
        "--cpus-per-task=4",
        "--gpus-per-node=1",
        "--time=0-04:00:00",
        "--partition=long",
        "--account=physics",
        "--requeue",
        "--signal=B:USR1@120",
    }


@pytest.mark.parametrize("name", ["a b", "it's $(touch x)", 'q"uote', "`x`", "-n", "ü"])
def test_what_people_name_things_stays_text(name: str) -> None:
    text = batch_file(name=name, spec=Path("/tmp") / name, overrides=(f"name={name}",)).text()
    (head, _, _) = text.partition("# 1. Ray")
    shown = f'{head}\nprintf "%s\\n" "$name" "$spec" "${{options[@]}}"'
    said = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [name, f"/tmp/{name}", "--set", f"name={name}"]


def test_a_password_is_not_written() -> None:
    with pytest.raises(UsageError, match="password"):
        batch_file(store_url="postgresql://me:secret@host/sweeps").text()


def test_a_real_sbatch_takes_the_file(site: SlurmSite, tmp_path: Path) -> None:
    path = written(tmp_path, "--nodes", "2", "--time", "10", "--partition", "main")
    assert "using 4 processors on nodes n[1-2]" in site.call("sbatch", "--test-only", str(path))


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "cut_off",
    [
        pytest.param(["scancel", "--batch", "--signal=USR1"], id="the-signal-before-the-time-limit"),
        pytest.param(["scontrol", "requeue"], id="a-requeue", marks=pytest.mark.long),
    ],
)
def test_a_sweep_that_is_cut_off_goes_on_and_completes(site: SlurmSite, tmp_path: Path, cut_off: list[str]) -> None:
    path = written(tmp_path, "--nodes", "2", "--time", "20", "--set", "repeats=2", "--set", "trial.images=4000")
    extra = {"PYTHONPATH": os.getcwd()}
    job = site.call("sbatch", "--parsable", str(path), folder=tmp_path, extra=extra).strip()

    def ended() -> int:
        sweep = sweep_in(tmp_path)
        return sweep.ended if sweep else 0

    output = tmp_path / f"slurm-{job}.out"
    assert eventually(lambda: ended() > 0, LIMIT_S), output.read_text()
    site.call(*cut_off, job)
    assert eventually(lambda: site.state(job) == "PENDING", 60)
    site.call("scontrol", "update", f"jobid={job}", "StartTime=now")  # it would wait for two minutes
    assert eventually(lambda: site.state(job) == "COMPLETED", LIMIT_S), output.read_text()
    sweep = sweep_in(tmp_path)
    assert sweep is not None
    assert sweep.states == {TrialState.COMPLETED: 4}
    assert output.read_text().count("joining Ray") == 2
