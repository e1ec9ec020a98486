"""The tests in tests/parallel under mpiexec, at several rank counts."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.mpi_job import mpi_job

_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "tests/parallel")
_TIMEOUT_S = 120


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_at_several_rank_counts(ranks: int) -> None:
    with mpi_job(ranks, *_PYTEST, stderr=subprocess.STDOUT) as job:
        try:
            said, _ = job.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {_TIMEOUT_S} s: a rank waits for another that has left")
    assert job.returncode == 0, said
    passed = [int(count) for count in re.findall(r"(\d+) passed", said)]
    assert len(passed) == ranks, said
    assert len(set(passed)) == 1, said
    assert passed[0] > 50, said
