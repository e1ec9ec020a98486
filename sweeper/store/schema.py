"""Which schema a database has: none, ours of some version, or another program's."""

from __future__ import annotations

import re

from sqlalchemy import Connection, text

from sweeper.errors import StoreError

SCHEMA_HEAD = "0009"
_OURS = frozenset({"sweep", "trial", "attempt", "loss_point"})  # tables of every version
# What can be seen without naming a schema, and was not put there by an extension.
_TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(oid)
      AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
"""


def version_of(connection: Connection, name: str) -> str | None:
    """The version of the schema, "0001" and on; None where the database has no tables at all.

    `name` is the store's, for the message. Nothing is changed.

    Raises:
        StoreError: the database is another program's.
    """
    found = _table_names(connection)
    if not found:
        return None
    if found >= _OURS and "alembic_version" in found:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if re.fullmatch(r"\d{4}", version or ""):
            return str(version)
    raise StoreError(f"--store {name}: is not a Sweeper store, it holds another program's tables", _another(connection))


def check_version(version: str | None, name: str) -> None:
    """See that a store has the schema that this code reads and writes.

    Raises:
        StoreError: there are no tables; or the schema is older or newer, and what to do.
    """
    if version is None:
        unseen = ", or you may not see its tables" if name.startswith("postgres") else ""
        raise StoreError(
            f"--store {name}: is not a Sweeper store, it is empty{unseen}",
            "`sweeper run SPEC` or `sweeper import FILE` makes one of it, or name the one you mean",
        )
    check_not_newer(version, name)
    if version != SCHEMA_HEAD:
        raise StoreError(
            f"--store {name}: has schema {version} of an earlier version, and this version needs {SCHEMA_HEAD}",
            "run `sweeper upgrade` on it; that backs a SQLite file up first",
        )


def check_not_newer(version: str, name: str) -> None:
    """See that this code knows the schema.

    Raises:
        StoreError: a later version has written the store.
    """
    if version > SCHEMA_HEAD:
        raise StoreError(
            f"--store {name}: has schema {version} of a later version, and this version knows {SCHEMA_HEAD} at most",
            "install a newer sweeper",
        )


def _table_names(connection: Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'")
        return set(found.scalars())
    return set(connection.execute(text(_TABLES)).scalars())


def _another(connection: Connection) -> str:
    if connection.dialect.name == "sqlite":
        return "name another file"
    return (
        "name another database, or a schema of Sweeper's own: `CREATE SCHEMA sweeper`, then "
        "?options=-csearch_path%3Dsweeper at the end of the URL"
    )
