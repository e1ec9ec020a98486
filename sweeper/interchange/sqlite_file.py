"""Other programs' SQLite files, which are read and never changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

_MAGIC = b"SQLite format 3\0"


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that can change nothing; rows are tuples.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite's."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def has_tables(path: Path, *names: str) -> bool:
    """Whether a file is a database that has all these tables."""
    if not is_database(path):
        return False
    try:
        with closing(open_read_only(path)) as connection:
            found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    return found.issuperset(names)
