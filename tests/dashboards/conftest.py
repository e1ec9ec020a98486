"""A store for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.store import Store, open_store


@pytest.fixture(scope="session")
def kept_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store, made once: its migrations take longer than most tests."""
    path = tmp_path_factory.mktemp("store") / "sweeper.db"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def url(tmp_path: Path, kept_store: Path) -> str:
    """Where the test's store is: an empty one."""
    shutil.copy(kept_store, tmp_path / "sweeper.db")
    return f"sqlite:///{tmp_path}/sweeper.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The test's store, in a file of its own."""
    opened = open_store(url)
    yield opened
    opened.close()
