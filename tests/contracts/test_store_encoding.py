"""A PostgreSQL database of whatever encoding holds any text."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.engine import make_url

from sweeper.store import open_store, read_store
from tests.contracts.databases import PostgresServer
from tests.dashboards.sweeps import curve, run

NAME = "größer, 大きい, ≥ 0.9"


@pytest.fixture(params=["SQL_ASCII", "UTF8"])
def encoded(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database; SQL_ASCII is what `initdb` makes where no language is set."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE encoded ENCODING '{request.param}' TEMPLATE template0 LOCALE 'C'")
        try:
            url = make_url(postgres.url).set(drivername="postgresql+psycopg", database="encoded")
            yield url.render_as_string(hide_password=False)
        finally:
            connection.execute("DROP DATABASE encoded WITH (FORCE)")


def test_names_come_back_as_they_were(encoded: str) -> None:
    store = open_store(encoded)
    run(store, {"workers": [1]}, lambda _: curve(1.0, 0.5), name=NAME)
    store.close()
    reading = read_store(encoded)
    assert [sweep.name for sweep in reading.sweeps.all()] == [NAME]
    reading.close()
