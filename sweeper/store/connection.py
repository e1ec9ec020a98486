"""Opening a database: its URL, its settings, its schema brought up to date."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sweeper.errors import StoreError
from sweeper.store.network import warn_of_network
from sweeper.store.turns import BUSY_TIMEOUT_S, is_busy

SCHEMA_HEAD = "0007"
_CONNECT_TIMEOUT_S = 10  # of a server that does not answer at all; the driver's own is two minutes
_BUSY_PAUSE_S = 0.01
_PASSWORD_FILE = "password_file"  # of a URL's query


def connect(url: str, *, create: bool = True) -> Engine:
    """An engine on the database at `url`, migrated where needed; a SQLite file is created only with `create`.

    `?password_file=FILE` at its end stands for the password in that file.

    Raises:
        StoreError: a URL that is none, a driver that is not installed, a database that cannot be reached or is not
            there.
    """
    parsed = _parse(url)
    if not create and is_missing(url):
        raise StoreError(
            f"--store {url}: there is no such file",
            "`sweeper run SPEC` or `sweeper import FILE` makes one, or name the one you mean",
        )
    try:
        engine = create_engine(
            _with_password(parsed), connect_args=_arguments(parsed), pool_pre_ping=parsed.get_backend_name() != "sqlite"
        )
        if parsed.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            warn_of_network(Path(parsed.database or ""))
        _migrate(engine)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"--store {hidden(url)}: the driver {error.name} is not installed", "install sweeper[postgresql]"
        ) from None
    except SQLAlchemyError as error:
        cause = " ".join(str(getattr(error, "orig", None) or error).split())
        raise StoreError(
            f"--store {hidden(url)}: cannot be opened ({cause})",
            "check that it exists and that file and folder may be written, also to read it",
        ) from None
    return engine


def is_missing(url: str) -> bool:
    """Whether the URL names a SQLite file that does not exist.

    Raises:
        StoreError: a URL that is none, or of a folder that does not exist.
    """
    parsed = _parse(url)
    return parsed.get_backend_name() == "sqlite" and bool(parsed.database) and not os.path.exists(parsed.database or "")


def hidden(url: str) -> str:
    """The URL without its password, for messages."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return re.sub(r"//.*@", "//***@", url)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter where the port is no number
        raise StoreError(
            f"--store {hidden(url)}: is no SQLAlchemy URL",
            "write it like sqlite:///sweeper.db or postgresql://host/database",
        ) from None
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"--store {hidden(url)}: this database is not supported", "use sqlite or postgresql")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise StoreError(
            f"--store {hidden(url)}: the driver {parsed.drivername.partition('+')[2]} is not supported",
            f"leave it out: {parsed.get_backend_name()}://…",
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise StoreError(
            f"--store {url}: names no file, and a store in memory is seen by one thread only",
            "write it like sqlite:///sweeper.db",
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database and not os.path.isdir(Path(parsed.database).parent):
        raise StoreError(
            f"--store {url}: there is no folder {Path(parsed.database).parent}", "create it, or name another place"
        )
    return parsed


def _with_password(url: URL) -> URL:
    """The URL with the password in the file that its `password_file` names: secrets are given to services so."""
    name = url.query.get(_PASSWORD_FILE)
    if name is None:
        return url
    file = name if isinstance(name, str) else name[-1]
    try:
        password = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or "no UTF-8 text"
        raise StoreError(
            f"--store: {_PASSWORD_FILE} {file} cannot be read ({cause})", "name a file that holds the password alone"
        ) from None
    return url.difference_update_query([_PASSWORD_FILE]).set(password=password)


def _arguments(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"timeout": BUSY_TIMEOUT_S}
    return {"connect_timeout": url.query.get("connect_timeout", _CONNECT_TIMEOUT_S)}


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    _use_wal(cursor)
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _use_wal(cursor: sqlite3.Cursor) -> None:
    """Keep on trying while others open the same new file: SQLite's own timeout does not cover this change."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE_S)


def _migrate(engine: Engine) -> None:
    with engine.connect() as connection:
        if _version(connection) == SCHEMA_HEAD:
            return
    # Only now: Alembic takes longer to import than all the rest, and most openings do not need it.
    from sweeper.store.migrations import upgrade

    upgrade(engine, SCHEMA_HEAD)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
