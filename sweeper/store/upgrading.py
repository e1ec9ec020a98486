"""Bringing a store of an earlier version to the schema of this one, with a copy of it kept."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import StoreError
from sweeper.store.connection import clear_errors, complete_file, hidden, parse_url, stored_version, writing_engine
from sweeper.store.schema import SCHEMA_HEAD, check_not_newer, check_version

_PAGES_AT_ONCE = 4096


@dataclass(frozen=True)
class Upgrade:
    """What became of a store: its schema before and after, and the copy of a SQLite file as it was before."""

    store: str
    before: str
    after: str
    backup: Path | None


def upgrade_store(url: str) -> Upgrade:
    """Bring the store at `url` to this version's schema; a store that has it already is left untouched.

    A SQLite file is copied first, beside itself and under a new name. PostgreSQL is not backed up.

    Raises:
        StoreError: there is no store, it is another program's or a later version's, or it cannot be written. The store
            is as it was before.
    """
    before, name = stored_version(url), hidden(url)
    if before is None:
        check_version(before, name)
        raise AssertionError  # the line above has raised
    check_not_newer(before, name)
    if before == SCHEMA_HEAD:
        return Upgrade(name, before, before, None)
    from sweeper.store.migrations import upgrade

    backups: list[Path] = []
    with clear_errors(url, "upgraded", "nothing was changed"):
        engine = writing_engine(parse_url(url))
        is_file = engine.dialect.name == "sqlite"
        file = Path(engine.url.database or "").resolve()
        try:
            upgrade(engine, SCHEMA_HEAD, (lambda: backups.append(_back_up(file, before))) if is_file else lambda: None)
            complete_file(engine)
        finally:
            engine.dispose()
    return Upgrade(name, before, SCHEMA_HEAD, backups[0] if backups else None)


def _back_up(file: Path, version: str) -> Path:
    """Copy a SQLite file, with what its -wal file holds, to a new file beside it."""
    backup = _new_file(file, version)
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
            source.backup(target, pages=_PAGES_AT_ONCE)
    except BaseException as error:
        backup.unlink()
        if isinstance(error, sqlite3.Error):
            raise StoreError(
                f"store {file}: cannot be backed up to {backup} ({error})", "make room on its disk; nothing was changed"
            ) from None
        raise
    return backup


def _new_file(file: Path, version: str) -> Path:
    """An empty file that nobody had: `sweeper.db` of schema 0005 becomes `sweeper.0005.db`, or `sweeper.0005-2.db`."""
    number = 1
    while True:
        again = f"-{number}" if number > 1 else ""
        path = file.with_name(f"{file.stem}.{version}{again}{file.suffix}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, file.stat().st_mode & 0o777))
        except FileExistsError:
            number += 1
        else:
            return path
