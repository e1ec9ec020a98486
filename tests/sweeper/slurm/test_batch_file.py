"""The file is one that bash and SLURM take, and keeps what people write in it as text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sweeper.errors import UsageError
from sweeper.slurm import EXECUTORS, Allocation, BatchFile
from tests.sweeper.slurm.jobs import written
from tests.sweeper.slurm.site import SlurmSite


def batch_file(**changes: object) -> BatchFile:
    allocation = Allocation(2, 4, 1, 4 * 3600, "long", "physics")
    settings = {"name": "s", "spec": Path("/s.yaml"), "overrides": (), "store_url": "sqlite:///s.db"}
    return BatchFile(**{**settings, "allocation": allocation, **changes})  # type: ignore[arg-type]


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
    (head, _, _) = text.partition("# 1. ")
    shown = f'{head}\nprintf "%s\\n" "$spec" "${{options[@]}}"'
    said = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"/tmp/{name}", "--set", f"name={name}"]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_bash_understands_the_file(executor: str) -> None:
    subprocess.run(["bash", "-n", "-c", batch_file(executor=executor).text()], check=True)


def test_a_password_is_not_written() -> None:
    with pytest.raises(UsageError, match="password"):
        batch_file(store_url="postgresql://me:secret@host/sweeps").text()


@pytest.mark.long
def test_a_real_sbatch_takes_the_file(site: SlurmSite, tmp_path: Path) -> None:
    path = written(tmp_path, "--nodes", "2", "--time", "10", "--partition", "main")
    assert "using 4 processors on nodes n[1-2]" in site.call("sbatch", "--test-only", str(path))
