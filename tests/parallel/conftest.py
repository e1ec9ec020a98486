"""Communicators to test on, and the end of all ranks when one of them fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mpi4py import MPI


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A rank that fails leaves the others waiting in a collective: say why, and end them all."""
    if report.failed and MPI.COMM_WORLD.size > 1:
        sys.stderr.write(f"rank {MPI.COMM_WORLD.rank}: {report.nodeid}\n{report.longreprtext}\n")
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where ranks say how many tests they passed: their lines on the screen are mixed with each other's."""
    parser.addoption("--counts", type=Path, help="a folder for a file a rank with the number of tests passed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """This rank's file."""
    folder = session.config.getoption("--counts", None)
    if folder is not None:
        (folder / str(MPI.COMM_WORLD.rank)).write_text(str(session.testscollected - session.testsfailed))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Ranks share the cores; and a sum's order is the same in every run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["self", "world", "duplicate", "reversed"])
def comm(request: pytest.FixtureRequest) -> Iterator[MPI.Comm]:
    """Each kind of communicator that the engine may be given; in the last, rank 0 is the world's last."""
    world = MPI.COMM_WORLD
    if request.param in ("self", "world"):
        yield MPI.COMM_SELF if request.param == "self" else world
        return
    made = world.Dup() if request.param == "duplicate" else world.Split(0, -world.rank)
    yield made
    made.Free()
