"""The part `gpu` of a study: what it has on this machine, and what is said where it cannot be measured."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from experiments.exchange_phases.__main__ import main as exchange_phases
from experiments.fused_fc.__main__ import main as fused_fc
from experiments.machine import gpus_for
from experiments.study import Study
from sweeper.errors import UsageError


def study_of(folder: Path, *only: str, quick: bool = False) -> Study:
    return Study(folder, folder, quick=quick, executor="local", only=only)


@pytest.mark.parametrize(("visible", "gpus"), [("0", 1), ("0,3", 2), ("0,1,2,3", 4)])
def test_a_part_has_the_gpus_that_are_visible(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, visible: str, gpus: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_for(study_of(tmp_path)) == gpus_for(study_of(tmp_path, "gpu")) == gpus
    assert gpus_for(study_of(tmp_path, "cpu")) == 0
    assert gpus_for(study_of(tmp_path, quick=True)) == 0


def test_without_a_gpu_the_cpu_is_measured_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpus_for(study_of(tmp_path)) == 0


def test_the_small_version_has_no_part_for_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(UsageError, match="the small version runs on CPUs only"):
        gpus_for(study_of(tmp_path, "gpu", quick=True))


@pytest.mark.parametrize("main", [exchange_phases, fused_fc], ids=["exchange_phases", "fused_fc"])
def test_the_part_is_rejected_where_there_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, main: click.Command
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = CliRunner().invoke(main, ["--only", "gpu", "--into", str(tmp_path)])
    assert done.exit_code == 1
    assert "this machine has no GPU" in done.output
    assert len(done.output.strip().splitlines()) == 1
