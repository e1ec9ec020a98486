"""Opening a database, to read it or to write it: its URL, its settings, and whether it is a store of ours."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sweeper.errors import StoreError
from sweeper.store.json_texts import decoded
from sweeper.store.network import warn_of_network
from sweeper.store.schema import SCHEMA_HEAD, check_version, version_of
from sweeper.store.transactions import read_once, through_a_restart
from sweeper.store.turns import BUSY_TIMEOUT_S, is_busy
from sweeper.store.untouched import UntouchedFile

_CONNECT_TIMEOUT_S = 10  # of a server that does not answer at all; the driver's own is two minutes
_BUSY_PAUSE_S = 0.01
_PASSWORD_FILE = "password_file"  # of a URL's query


def connect(url: str, *, create: bool = True) -> Engine:
    """An engine that writes to the store at `url`; with `create` the store is made in an empty or missing database.

    `?password_file=FILE` at its end stands for the password in that file.

    Raises:
        StoreError: not a URL; a driver that is not installed; a database that cannot be reached, is not there, is
            another program's, or has another schema than this version's.
    """
    parsed = parse_url(url)
    is_new = create and is_missing(url)
    version = None if is_new else stored_version(url)
    if version is not None or not create:
        check_version(version, hidden(url))
    with clear_errors(url):
        engine = writing_engine(parsed)
        if version is None:
            # Only now: Alembic takes longer to import than all the rest, and most openings do not need it.
            from sweeper.store.migrations import upgrade

            through_a_restart(lambda: upgrade(engine, SCHEMA_HEAD))  # of what is done already it does nothing
    return engine


def connect_to_read(url: str) -> Engine:
    """An engine that reads the store at `url` and can change nothing of it.

    Raises:
        StoreError: as for `connect`.
    """
    check_version(stored_version(url), hidden(url))
    return _reading_engine(parse_url(url))


def stored_version(url: str) -> str | None:
    """The version of the schema of the database at `url`, None if it is empty; nothing is changed.

    Raises:
        StoreError: as for `connect`.
    """
    if is_missing(url):
        raise StoreError(
            f"--store {hidden(url)}: there is no such file",
            "`sweeper run SPEC` or `sweeper import FILE` makes one, or name the one you mean",
        )
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite" and _is_empty_file(parsed):
        return None
    with clear_errors(url):
        engine = _reading_engine(parsed)
        try:
            return through_a_restart(lambda: read_once(engine, lambda connection: version_of(connection, hidden(url))))
        finally:
            engine.dispose()


def writing_engine(url: URL) -> Engine:
    """An engine on a database, which need not be a store; a SQLite file is made, and goes into WAL mode."""
    engine = create_engine(
        _with_password(url),
        connect_args=_arguments(url),
        pool_pre_ping=url.get_backend_name() != "sqlite",
        json_deserializer=decoded,
    )
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        _check_writable(url)
        warn_of_network(Path(url.database or ""))
    return engine


def complete_file(engine: Engine) -> None:
    """Have a SQLite file hold all that was written to it, also if its -wal file stays since somebody reads it."""
    if not isinstance(engine.pool, QueuePool) or engine.dialect.name != "sqlite" or not engine.pool.checkedin():
        return
    with suppress(SQLAlchemyError), engine.connect() as connection:  # what is in the -wal file is recorded all the same
        connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")


def _reading_engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        file = UntouchedFile(Path(url.database or ""))
        return create_engine(url, creator=file.connect, poolclass=NullPool, json_deserializer=decoded)
    return create_engine(
        _with_password(url),
        connect_args=_arguments(url),
        pool_pre_ping=True,
        json_deserializer=decoded,
        execution_options={"postgresql_readonly": True},  # who may only SELECT needs no more
    )


@contextmanager
def clear_errors(
    url: str, done: str = "opened", remedy: str = "check that it exists, and what you may do with it"
) -> Iterator[None]:
    """Raise StoreError where a database cannot be opened, or what else is `done` to it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreError(
            f"--store {hidden(url)}: the driver {error.name} is not installed", "install sweeper[postgresql]"
        ) from None
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        cause = getattr(error, "strerror", None) or " ".join(str(getattr(error, "orig", None) or error).split())
        raise StoreError(f"--store {hidden(url)}: cannot be {done} ({cause})", remedy) from None


def _is_empty_file(url: URL) -> bool:
    """Whether a SQLite file has no byte yet.

    Raises:
        StoreError: it is something else than a file, whose reading may never end.
    """
    path = Path(url.database or "")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a device or pipe"
        raise StoreError(f"--store {hidden(str(url))}: cannot be opened ({path} is {what})", "name a file")
    return path.stat().st_size == 0


def _check_writable(url: URL) -> None:
    """See that SQLite can write the file and make others beside it.

    Raises:
        StoreError: it cannot.
    """
    file = Path(url.database or "").resolve()
    for place in (file, file.parent):
        if place.exists() and not os.access(place, os.W_OK, effective_ids=True):
            raise StoreError(
                f"--store {hidden(str(url))}: cannot be written ({place} is read-only)",
                "name another place, or change its permissions",
            )


def is_missing(url: str) -> bool:
    """Whether the URL names a SQLite file that does not exist.

    Raises:
        StoreError: a URL that is none, or of a folder that does not exist.
    """
    parsed = parse_url(url)
    return parsed.get_backend_name() == "sqlite" and bool(parsed.database) and not os.path.exists(parsed.database or "")


def hidden(url: str) -> str:
    """The URL without its password, for messages."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return re.sub(r"//.*@", "//***@", url)


def parse_url(url: str) -> URL:
    """The parts of a URL.

    Raises:
        StoreError: it names no database that can hold a store.
    """
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
    # Without an encoding the driver gives bytes where a database has none of its own (SQL_ASCII).
    return {
        "connect_timeout": url.query.get("connect_timeout", _CONNECT_TIMEOUT_S),
        "client_encoding": url.query.get("client_encoding", "utf8"),
    }


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
