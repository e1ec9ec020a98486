"""Opening a store: its schema, and what is refused."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from sweeper.errors import StoreError
from sweeper.store import open_store
from sweeper.store.connection import SCHEMA_HEAD, connect
from sweeper.store.tables import metadata

NOBODY = 65534


def refusal(url: str, *, create: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url, create=create)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_migrations_give_exactly_the_tables(url: str) -> None:
    engine = connect(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == SCHEMA_HEAD
    engine.dispose()


def test_migrations_say_the_same_as_the_tables_to_the_letter(tmp_path: Path) -> None:
    def statements(path: Path) -> list[str]:
        with sqlite3.connect(path) as connection:
            query = "SELECT sql FROM sqlite_master WHERE tbl_name != 'alembic_version' AND sql IS NOT NULL"
            return sorted(re.sub(r"\s+", " ", sql) for (sql,) in connection.execute(query))

    migrated, created = tmp_path / "migrated.db", tmp_path / "created.db"
    connect(f"sqlite:///{migrated}").dispose()
    engine = create_engine(f"sqlite:///{created}")
    metadata.create_all(engine)
    engine.dispose()
    assert statements(migrated) == statements(created)
    assert len(statements(migrated)) == len(metadata.tables) + 3


def test_what_others_read_has_its_names() -> None:
    expected = {
        "sweep": {"id", "name", "spec", "created_at"},
        "trial": {"id", "sweep_id", "workers", "parameters", "state", "area_seconds", "minimum_loss"},
        "loss_point": {"trial_id", "attempt", "step", "images", "seconds", "loss"},
    }
    for table, columns in expected.items():
        assert columns <= set(metadata.tables[table].columns.keys())
    assert set(metadata.tables) == {"sweep", "trial", "attempt", "loss_point", "phase", "evaluation", "gang"}


def test_sqlite_is_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "sweeper.db"
    store = open_store(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_deleting_a_sweep_deletes_all_of_it(url: str) -> None:
    """Foreign keys hold on both databases, also on SQLite, which does not check them by itself."""
    store = open_store(url)
    store.add_import("logs", [])
    engine = connect(url)
    with engine.begin() as connection, pytest.raises(Exception, match="(?i)foreign key"):
        connection.execute(
            text("INSERT INTO attempt VALUES ('t', 1, NULL, 's', '', '', '{}', NULL, NULL, '', '2026-01-01', NULL)")
        )
    engine.dispose()
    store.close()


def test_a_store_of_a_newer_version_is_refused_and_left_alone(url: str) -> None:
    open_store(url).close()
    engine = connect(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "the store has a schema that this version does not know" in refusal(url)
    assert refusal(url).endswith("; upgrade sweeper")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sweeper.db", "is no SQLAlchemy URL; write it like sqlite:///sweeper.db or postgresql://host/database"),
        ("", "is no SQLAlchemy URL"),
        ("postgresql://host:port/sweeps", "is no SQLAlchemy URL"),
        (
            "mysql://host/sweeps",
            "--store mysql://host/sweeps: this database is not supported; use sqlite or postgresql",
        ),
        (
            "sqlite://",
            "names no file, and a store in memory is seen by one thread only; write it like sqlite:///sweeper.db",
        ),
        ("sqlite:///:memory:", "names no file"),
        (
            "sqlite:////nowhere/at/all/sweeper.db",
            "there is no folder /nowhere/at/all; create it, or name another place",
        ),
        ("postgresql+pg8000://host/sweeps", "the driver pg8000 is not installed; install sweeper[postgresql]"),
        ("postgresql+none://host/sweeps", "cannot be opened (Can't load plugin: sqlalchemy.dialects:postgresql.none"),
        ("postgresql://127.0.0.1:1/sweeps", "cannot be opened ("),
    ],
)
def test_urls_that_lead_nowhere_are_refused(url: str, message: str) -> None:
    assert message in refusal(url)


def test_passwords_are_not_shown() -> None:
    for url in ("postgresql://me:secret@127.0.0.1:1/sweeps", "mysql://me:secret@host/sweeps"):
        assert "secret" not in refusal(url)
        assert "me:***@" in refusal(url)


def test_a_missing_file_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "sweeper.db"
    assert "there is no such file" in refusal(f"sqlite:///{path}", create=False)
    assert not path.exists()
    open_store(f"sqlite:///{path}").close()
    open_store(f"sqlite:///{path}", create=False).close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 100)
    assert "cannot be opened (file is not a database)" in refusal(f"sqlite:///{path}")
    assert path.read_text() == "these are my notes\n" * 100


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "cannot be opened (unable to open database file)" in refusal(f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_that_may_not_be_written_is_refused(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "sweeper.db"
    if exists:
        path.touch(0o444)
    tmp_path.chmod(0o555)
    # Nothing is forbidden to root: somebody else tries, who needs a way to the folder.
    if os.geteuid() == 0:
        for folder in tmp_path.parents:
            if folder.stat().st_uid == 0 and folder.is_relative_to("/tmp"):
                folder.chmod(folder.stat().st_mode | 0o055)
    program = (
        "import sys; from sweeper.errors import StoreError; from sweeper.store import open_store\n"
        "try: open_store(sys.argv[1])\n"
        "except StoreError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"sqlite:///{path}"],
        user=NOBODY if os.geteuid() == 0 else None,
        capture_output=True,
        text=True,
        check=False,
    )
    tmp_path.chmod(0o755)
    reason = "attempt to write a readonly database" if exists else "unable to open database file"
    assert done.stdout == (
        f"--store sqlite:///{path}: cannot be opened ({reason}); check that it exists and may be written\n"
    ), done.stderr
