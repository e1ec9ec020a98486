"""The tests in tests/parallel under mpiexec, at several rank counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mpi_job import mpi_job

_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header")
_ALL, _CHANNEL_PARALLEL = "tests/parallel", "tests/parallel/channel_parallel"
_TIMEOUT_S = 280  # about a minute where nothing else runs


def run_on(ranks: int, counts: Path, at_least: int, *arguments: str) -> None:
    """The tests pass on every rank, and every rank has the same, `at_least` so many."""
    with mpi_job(ranks, *_PYTEST, *arguments, "--counts", str(counts), stderr=subprocess.STDOUT) as job:
        try:
            said, _ = job.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {_TIMEOUT_S} s: a rank waits for another that has left")
    assert job.returncode == 0, said
    passed = [int((counts / str(rank)).read_text()) for rank in range(ranks)]
    assert len(set(passed)) == 1, said
    assert passed[0] >= at_least, said


@pytest.mark.timeout(_TIMEOUT_S + 20)
@pytest.mark.parametrize("ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 2, 4))])
def test_at_several_rank_counts(ranks: int, tmp_path: Path) -> None:
    run_on(ranks, tmp_path, 50, _ALL)


@pytest.mark.timeout(_TIMEOUT_S + 20)
@pytest.mark.parametrize("ranks", [4, pytest.param(2, marks=pytest.mark.long)])
def test_channels_are_split_among_several_ranks(ranks: int, tmp_path: Path) -> None:
    run_on(ranks, tmp_path, 40, _CHANNEL_PARALLEL)


@pytest.mark.long
@pytest.mark.timeout(_TIMEOUT_S + 20)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_many_more_convolutions_are_split(ranks: int, tmp_path: Path) -> None:
    run_on(ranks, tmp_path, 40, _CHANNEL_PARALLEL, "-m", "long")
