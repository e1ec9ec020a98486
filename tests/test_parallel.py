"""The tests in tests/parallel under mpiexec, at several rank counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mpi_job import mpi_job

_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "tests/parallel")
_TIMEOUT_S = 280  # about a minute where nothing else runs


@pytest.mark.timeout(_TIMEOUT_S + 20)
@pytest.mark.parametrize("ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 2, 4))])
def test_at_several_rank_counts(ranks: int, tmp_path: Path) -> None:
    with mpi_job(ranks, *_PYTEST, "--counts", str(tmp_path), stderr=subprocess.STDOUT) as job:
        try:
            said, _ = job.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {_TIMEOUT_S} s: a rank waits for another that has left")
    assert job.returncode == 0, said
    passed = [int((tmp_path / str(rank)).read_text()) for rank in range(ranks)]
    assert len(set(passed)) == 1, said
    assert passed[0] > 50, said
