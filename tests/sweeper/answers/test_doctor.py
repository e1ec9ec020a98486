"""The doctor finds what is there, and says how to mend what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuda_ext import load
from cuda_ext.load import ExtensionError
from engine.data.folders import VARIABLE
from sweeper.answers.doctor import (
    Finding,
    check_compiler,
    check_data,
    check_mpi,
    check_operators,
    check_slurm,
    check_store,
)
from sweeper.cli.main import main


def findings(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = 0
    try:
        main(["doctor", "--json", *arguments])
    except SystemExit as left:
        code = int(left.code or 0)
    checks = json.loads(capsys.readouterr().out)["checks"]
    return code, {check["name"]: check for check in checks}


def test_a_sound_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))  # to read all pictures of the large sets takes long
    code, checks = findings(capsys)
    assert code == 0
    assert {checks[name]["status"] for name in ("machine", "mpi", "ray", "store", "data digits")} == {"ok"}
    assert "2 ranks in one world" in checks["mpi"]["detail"]
    assert checks.keys() >= {"compiler", "cuda", "data fashion-mnist", "data cifar10"}
    assert all(check["status"] == "ok" or check["remedy"] for check in checks.values())
    assert not list(tmp_path.iterdir())  # looking leaves no store behind


def test_what_fails_makes_it_exit_with_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(tmp_path / "none"))
    monkeypatch.setattr("sweeper.cli.doctor.CHECKS", (check_mpi, check_store))  # the others are looked at above
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--store", f"sqlite:///{tmp_path}/none/sweeper.db"])
    assert left.value.code == 1
    shown = capsys.readouterr().out
    assert "failed  mpi:" in shown
    assert "SWEEPER_MPIEXEC" in shown
    assert "failed  store:" in shown


def test_slurm_is_absent_where_its_commands_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [finding.status for finding in check_slurm("")] == ["absent"]
    (tmp_path / "srun").touch(mode=0o755)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert ["outside of an allocation" in finding.detail for finding in check_slurm("")] == [True]
    monkeypatch.setenv("SLURM_JOB_ID", "1")  # of which no scontrol tells anything here
    assert [finding.status for finding in check_slurm("")] == ["failed"]


def mpiexec(folder: Path, script: str) -> str:
    path = folder / "mpiexec"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo HYDRA && exit\n{script}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        # What people meet who have two MPIs: each rank comes up alone.
        ('shift 2; "$@"; "$@"', "started 2 ranks, and they came up in 2 worlds"),
        ("echo broken >&2; exit 4", "broken"),
        ("exit 4", "exit code 4"),
    ],
)
def test_an_mpi_that_does_not_fit(script: str, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", mpiexec(tmp_path, script))
    (finding,) = check_mpi("")
    assert finding.status == "failed"
    assert detail in finding.detail
    assert "pip install mpich" in finding.remedy


def test_a_machine_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert [f.status for f in check_compiler("")] == ["absent"]
    monkeypatch.setenv("CXX", str(tmp_path / "c++"))
    assert [f.status for f in check_compiler("")] == ["failed"]


def test_a_store_that_is_none() -> None:
    assert [f.status for f in check_store("no url")] == ["failed"]


def test_absent_data_is_told_and_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SWEEPER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.data.folders.DEBIAN", tmp_path / "debian")
    found = {finding.name: finding for finding in check_data("")}
    assert isinstance(found["data cifar10"], Finding)
    assert found["data cifar10"].status == found["data fashion-mnist"].status == "absent"
    assert "SWEEPER_DATA" in found["data cifar10"].remedy
    assert not list(tmp_path.rglob("*.gz"))


def test_the_operators_are_loaded_and_their_absence_has_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = check_operators("")
    assert finding.status == "ok"
    assert finding.detail.startswith("built ")

    def refuse() -> None:
        raise ExtensionError("the compiled operators are missing")

    monkeypatch.setattr(load, "load_operators", refuse)
    (finding,) = check_operators("")
    assert finding.status == "failed"
    assert finding.remedy == "run `python -m cuda_ext.build`; or set trial.fc to torch"
