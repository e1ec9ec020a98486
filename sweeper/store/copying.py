"""PostgreSQL's COPY within a transaction of SQLAlchemy's, with errors as SQLAlchemy has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, IntegrityError


@contextmanager
def copying(connection: Connection, statement: str) -> Iterator[psycopg.Copy]:
    """What takes the rows of a COPY, all or none.

    Raises:
        IntegrityError: a row of this key is there already, or what it refers to is not.
        DatabaseError: the database refuses for another reason, or is away.
    """
    driver = psycopg_connection(connection)
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            yield copy
    except psycopg.Error as error:
        if driver.closed:
            connection.invalidate()
        kind = IntegrityError if isinstance(error, psycopg.IntegrityError) else DatabaseError
        raise kind(statement, None, error) from error


def psycopg_connection(connection: Connection) -> psycopg.Connection:
    """The driver's connection behind SQLAlchemy's."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
