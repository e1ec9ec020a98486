"""Opening a store: its schema, and what is refused."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, make_url, select, text

from sweeper.errors import StoreError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import GangRecord, Printed, open_store, read_store
from sweeper.store.connection import connect, parse_url, writing_engine
from sweeper.store.schema import SCHEMA_HEAD
from sweeper.store.tables import metadata
from sweeper.store.upgrading import upgrade_store
from tests.contracts.databases import PostgresServer
from tests.contracts.together import PROCESSES, Together, open_and_add


def refusal(url: str, *, create: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url, create=create)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_migrations_give_exactly_the_tables(url: str) -> None:
    def is_meant(_thing: object, name: str | None, _kind: str, reflected: bool, _other: object) -> bool:
        """All but the key of loss points where PostgreSQL must not have it: Alembic asks no `ddl_if` of keys."""
        return reflected or url.startswith("sqlite") or name != "fk_loss_point_trial_id_attempt"

    engine = connect(url)
    opts = {"compare_type": True, "compare_server_default": True, "include_object": is_meant}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == SCHEMA_HEAD
    engine.dispose()


def test_migrations_say_the_same_as_the_tables_to_the_word(tmp_path: Path) -> None:
    """Also what Alembic does not compare: names of constraints, a table without row ids. Quotes do not matter."""

    def words(path: Path) -> list[list[str]]:
        query = "SELECT sql FROM sqlite_master WHERE tbl_name != 'alembic_version' AND sql IS NOT NULL"
        with sqlite3.connect(path) as connection:
            return sorted(sorted(re.split(r"[\s,()\"]+", sql)) for (sql,) in connection.execute(query))

    migrated, created = tmp_path / "migrated.db", tmp_path / "created.db"
    connect(f"sqlite:///{migrated}").dispose()
    engine = create_engine(f"sqlite:///{created}")
    metadata.create_all(engine)
    engine.dispose()
    assert words(migrated) == words(created)
    assert len(words(migrated)) >= len(metadata.tables)


def test_what_others_read_has_its_names() -> None:
    expected = {
        "sweep": {"id", "name", "spec", "created_at"},
        "trial": {"id", "sweep_id", "workers", "parameters", "state", "area_seconds", "minimum_loss"},
        "loss_point": {"trial_id", "attempt", "step", "images", "seconds", "loss"},
    }
    for table, columns in expected.items():
        assert columns <= set(metadata.tables[table].columns.keys())
    assert set(metadata.tables) == {
        *("sweep", "trial", "attempt", "loss_point", "phase", "evaluation", "gang", "scheduler", "submission"),
        "printed",
    }


def test_sqlite_is_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "sweeper.db"
    store = open_store(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_processes_make_one_file_at_once_again_and_again(tmp_path: Path, together: Together) -> None:
    """SQLite's own waiting does not cover the change to WAL mode: without care, one in a few is refused."""
    for i in range(20):
        url = f"sqlite:///{tmp_path / f'{i}.db'}"
        assert len(set(together(open_and_add, url))) == PROCESSES


def test_deleting_a_sweep_deletes_all_of_it(url: str) -> None:
    store = open_store(url)
    spec = parse_spec({"name": "mine", "space": {"batch_size": [16]}})
    sweep_id, _ = store.submissions.add("key", "digest", spec, plan(spec))
    (trial,) = store.trials.of(sweep_id)
    store.attempts.claim(trial.id)
    store.attempts.assign_gang(trial.id, 1, GangRecord("g", sweep_id, 1, [], [], {}, datetime.now(UTC)), "gang.log")
    store.attempts.add_points(trial.id, 1, [LossPoint(1, 1, 1.0, 1.0)])
    told = Printed("a warning\n")
    store.attempts.finish(trial.id, 1, TrialState.COMPLETED, summarize([]), phases={"compute": 1.0}, printed=told)
    engine = connect(url)
    filled = metadata.sorted_tables
    for beside in ("evaluation", "scheduler"):
        filled.remove(metadata.tables[beside])
    with engine.begin() as connection:
        assert [len(connection.execute(select(table)).all()) for table in filled] == [1] * len(filled)
        connection.execute(metadata.tables["sweep"].delete())
        assert [len(connection.execute(select(table)).all()) for table in filled] == [0] * len(filled)
    engine.dispose()
    store.close()


def test_a_store_of_a_newer_version_is_refused_and_left_alone(url: str) -> None:
    open_store(url).close()
    engine = connect(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for create in (True, False):
        assert "has schema 9999 of a later version, and this version knows" in refusal(url, create=create)
        assert refusal(url, create=create).endswith("; install a newer sweeper")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
    engine.dispose()


def test_an_earlier_store_is_upgraded_only_when_asked_for(url: str) -> None:
    open_store(url).close()
    engine = writing_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    engine.dispose()
    for opened in (open_store, read_store):
        with pytest.raises(StoreError, match=r"has schema 0005 of an earlier version, .*; run `sweeper upgrade` on it"):
            opened(url)
    done = upgrade_store(url)
    assert (done.before, done.after, done.backup is None) == ("0005", SCHEMA_HEAD, url.startswith("postgresql"))
    read_store(url).close()


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
        ("postgresql+pg8000://host/sweeps", "the driver pg8000 is not supported; leave it out: postgresql://…"),
        ("postgresql+none://host/sweeps", "the driver none is not supported; leave it out"),
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
    assert f"cannot be opened ({tmp_path} is a folder); name a file" in refusal(f"sqlite:///{tmp_path}")


def test_a_device_or_pipe_is_no_database(tmp_path: Path) -> None:
    """Reading it would never end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        assert f"cannot be opened ({path} is a device or pipe); name a file" in refusal(f"sqlite:///{path}")


@pytest.mark.parametrize("create", [True, False])
def test_other_programs_tables_are_left_alone(url: str, create: bool) -> None:
    """Also where Alembic has noted the version of another program's schema."""
    engine = writing_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('0001')"))
        connection.execute(text("CREATE TABLE trial (id INTEGER)"))
    told = refusal(url, create=create)
    assert "is not a Sweeper store, it holds another program's tables; name another" in told
    with engine.connect() as connection:
        assert sorted(inspect(connection).get_table_names()) == ["alembic_version", "trial"]
    engine.dispose()


def test_an_empty_database_becomes_a_store_only_where_that_is_asked_for(url: str) -> None:
    engine = writing_engine(parse_url(url))
    with engine.begin() as connection:  # SQLite's file has a header now
        connection.execute(text("CREATE TABLE gone (id INTEGER)"))
        connection.execute(text("DROP TABLE gone"))
    assert "is not a Sweeper store, it is empty" in refusal(url, create=False)
    open_store(url).close()
    open_store(url, create=False).close()
    engine.dispose()


def test_a_schema_of_postgresql_may_be_sweepers_own(postgres: PostgresServer) -> None:
    """Where the database has another program's tables: as the remedy says."""
    with postgres.fresh_url() as url, create_engine(parse_url(url)).connect() as connection:
        connection.execute(text("CREATE TABLE notes (id INTEGER)"))
        connection.execute(text("CREATE SCHEMA sweeper"))
        connection.commit()
        assert refusal(url).endswith("?options=-csearch_path%3Dsweeper at the end of the URL")
        own = f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3Dsweeper"
        open_store(own).close()
        assert read_store(own).sweeps.all() == []
        names = inspect(connection).get_table_names
        assert (names("public"), len(names("sweeper"))) == (["notes"], len(metadata.tables) + 1)
        connection.execute(text("DROP SCHEMA sweeper CASCADE"))
        connection.commit()


def test_who_may_only_select_can_read(postgres: PostgresServer) -> None:
    with postgres.fresh_url() as url, create_engine(parse_url(url)).connect() as connection:
        open_store(url).close()
        connection.execute(text("CREATE ROLE reader LOGIN"))
        connection.execute(text("GRANT USAGE ON SCHEMA public TO reader"))
        connection.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"))
        connection.commit()
        store = read_store(make_url(url).set(username="reader").render_as_string(hide_password=False))
        assert store.sweeps.all() == []
        with pytest.raises(StoreError, match="cannot be read \\(cannot execute DELETE in a read-only transaction\\)"):
            store.transactions.read(lambda own: own.execute(metadata.tables["sweep"].delete()))
        store.close()
        connection.execute(text("DROP OWNED BY reader"))
        connection.execute(text("DROP ROLE reader"))
        connection.commit()


_OPEN_AS_NOBODY = """
import os, sys
from sweeper.errors import StoreError
from sweeper.store import open_store
open_store("sqlite:///" + sys.argv[2]).close()  # loads all that is needed, perhaps from folders that are root's alone
if os.geteuid() == 0:  # to whom nothing is forbidden
    os.seteuid(65534)
try:
    open_store("sqlite:///" + sys.argv[1])
except StoreError as error:
    print(error)
"""


def open_as_nobody(path: Path, spare: Path) -> str:
    """What a person is told who is not root."""
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_AS_NOBODY, path, spare], capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.stdout.strip().removeprefix(f"--store sqlite:///{path}: ")


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """A folder that everybody can read; pytest's own is for one user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_what_may_not_be_written_or_seen_is_refused(readable_folder: Path, tmp_path: Path) -> None:
    locked = readable_folder / "locked"
    locked.mkdir(0o555)
    read_only = readable_folder / "read-only.db"
    read_only.touch(0o444)
    hidden = readable_folder / "hidden"
    hidden.mkdir(0o700 if os.geteuid() == 0 else 0o000)
    spare = tmp_path / "spare.db"
    advice = "name another place, or change its permissions"
    assert open_as_nobody(read_only, spare) == f"cannot be written ({read_only} is read-only); {advice}"
    assert open_as_nobody(locked / "new.db", spare) == f"cannot be written ({locked} is read-only); {advice}"
    assert open_as_nobody(hidden / "new.db", spare) == (
        "cannot be opened (Permission denied); check that it exists, and what you may do with it"
    )
    assert open_as_nobody(hidden / "deeper" / "new.db", spare) == (
        f"there is no folder {hidden / 'deeper'}; create it, or name another place"
    )
