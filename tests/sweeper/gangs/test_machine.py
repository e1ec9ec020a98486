"""What may be used here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sweeper.gangs.machine import local_capacity, local_gpus, usable_cpus

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "cpus"),
    [
        ("max 100000", CORES),
        ("100000 100000", 1),
        ("50000 100000", 1),
        (f"{(CORES + 5) * 100000} 100000", CORES),
        ("nonsense", CORES),
    ],
)
def test_a_containers_quota_counts(quota: str, cpus: int, tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    assert usable_cpus(file) == cpus


def test_without_a_quota_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cpus(tmp_path / "none") == CORES
    assert local_capacity().total.cpus <= CORES


def test_an_outer_choice_of_gpus_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-abc")
    assert local_gpus() == ["3", "GPU-abc"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert local_gpus() == []
