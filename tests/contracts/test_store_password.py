"""The password of a database in a file of its own, as secrets are given to services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from sweeper.errors import StoreError
from sweeper.store import open_store
from tests.contracts.databases import PostgresServer

PASSWORD = "p@ss/wörd: #1"


@pytest.fixture
def guarded(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a database with a user who has a password, without it."""
    with postgres.fresh_url() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
        try:
            yield make_url(url).set(drivername="postgresql+psycopg", username="guarded").render_as_string()
        finally:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP OWNED BY guarded")
                connection.execute("DROP ROLE guarded")


def test_the_password_comes_out_of_the_file(guarded: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    separator = "&" if "?" in guarded else "?"
    store = open_store(f"{guarded}{separator}password_file={file}")
    try:
        assert store.sweeps.all() == []
        assert PASSWORD not in store.name
        used = store.transactions._engine.url
        assert (used.password, "password_file" in used.query) == (PASSWORD, False)
    finally:
        store.close()


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreError, match="/nowhere/password cannot be read") as error:
        open_store("postgresql://sweeper@127.0.0.1:1/sweeper?password_file=/nowhere/password")
    assert "password alone" in error.value.remedy
