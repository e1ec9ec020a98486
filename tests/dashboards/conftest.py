"""A store for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.store import Store, open_store


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where the test's store is."""
    return f"sqlite:///{tmp_path}/sweeper.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store in a file of its own."""
    opened = open_store(url)
    yield opened
    opened.close()
