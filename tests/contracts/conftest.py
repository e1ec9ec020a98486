"""Stores on every kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.store import Store, open_store
from tests.contracts.databases import KINDS, PostgresServer, postgres_server
from tests.contracts.together import Together, processes


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def together() -> Iterator[Together]:
    """Processes that do the same at the same moment."""
    with processes() as pool:
        yield pool


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new store may be made, once on each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'sweeper.db'}"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        with server.fresh_url() as fresh:
            yield fresh


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A new store."""
    opened = open_store(url)
    yield opened
    opened.close()
