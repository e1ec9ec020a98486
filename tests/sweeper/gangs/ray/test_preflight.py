"""Hosts of a cluster are compared before a sweep is recorded."""

from __future__ import annotations

import platform

import pytest

from sweeper.gangs.ray.preflight import differences, facts


def test_a_host_tells_what_it_has() -> None:
    found = facts()
    assert found["Python"] == platform.python_version()
    assert found["MPI"].startswith(("mpich", "openmpi"))
    assert "none" not in (found["torch"], found["mpi4py"])
    assert facts() == found


def test_a_missing_mpi_is_told_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", "/nowhere/mpiexec")
    assert "/nowhere/mpiexec cannot be run" in facts()["MPI"]


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ({}, ""),
        ({"a": {"torch": "2.9"}}, ""),
        ({"a": {"torch": "2.9"}, "b": {"torch": "2.9"}}, ""),
        ({"a": {"torch": "2.9"}, "b": {"torch": "2.8"}}, "torch (2.9 on a; 2.8 on b)"),
        (
            {"a": {"torch": "2.9", "MPI": "x"}, "b": {"torch": "2.8"}, "c": {"torch": "2.9", "MPI": "x"}},
            "torch (2.9 on a, c; 2.8 on b), MPI (x on a, c; none on b)",
        ),
    ],
)
def test_what_differs_is_named_with_its_hosts(hosts: dict[str, dict[str, str]], words: str) -> None:
    assert differences(hosts) == words
