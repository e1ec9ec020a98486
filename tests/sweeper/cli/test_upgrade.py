"""`sweeper upgrade`: what it says, what it keeps, and what it leaves alone."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sweeper.cli.main import main
from sweeper.store import open_store
from sweeper.store.schema import SCHEMA_HEAD

KEPT = Path(__file__).parent.parent.parent / "contracts" / "kept"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command on the folder's store."""

    def called(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([*arguments, "--store", f"sqlite:///{tmp_path / 'sweeper.db'}"])
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return called


def make(path: Path, version: str = "0003") -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((KEPT / f"{version}.sql").read_text())


def names(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sweep")]


def test_it_says_from_which_schema_to_which_and_where_the_copy_is(call: Call, tmp_path: Path) -> None:
    path, copy = tmp_path / "sweeper.db", tmp_path / "sweeper.0003.db"
    make(path)
    path.chmod(0o640)
    assert call("upgrade") == (
        0,
        f"upgraded sqlite:///{path} from schema 0003 to {SCHEMA_HEAD}; the store as it was is in {copy}\n",
        "",
    )
    assert copy.stat().st_mode & 0o777 == 0o640
    assert call("upgrade") == (0, f"sqlite:///{path} has schema {SCHEMA_HEAD} already; nothing was changed\n", "")
    assert json.loads(call("upgrade", "--json")[1]) == {
        "store": f"sqlite:///{path}",
        "before": SCHEMA_HEAD,
        "after": SCHEMA_HEAD,
        "backup": None,
    }
    assert sorted(os.listdir(tmp_path)) == ["sweeper.0003.db", "sweeper.db"]
    assert call("list")[0] == 0


def test_no_copy_takes_the_place_of_another_file(call: Call, tmp_path: Path) -> None:
    make(tmp_path / "sweeper.db")
    for name in ("sweeper.0003.db", "sweeper.0003-2.db"):
        (tmp_path / name).write_text("mine")
    assert json.loads(call("upgrade", "--json")[1])["backup"] == str(tmp_path / "sweeper.0003-3.db")
    assert (tmp_path / "sweeper.0003.db").read_text() == "mine"


def test_the_copy_has_what_is_only_in_the_wal_file(call: Call, tmp_path: Path) -> None:
    make(tmp_path / "sweeper.db")
    with closing(sqlite3.connect(tmp_path / "sweeper.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE sweep SET name = 'newest'")
        connection.commit()
        assert call("upgrade")[0] == 0
    assert names(tmp_path / "sweeper.0003.db") == names(tmp_path / "sweeper.db") == ["newest"]


def test_a_link_leads_to_the_store_beside_which_the_copy_is(call: Call, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    make(tmp_path / "there" / "store.db")
    (tmp_path / "sweeper.db").symlink_to("there/store.db")
    assert call("upgrade")[0] == 0
    assert sorted(os.listdir(tmp_path / "there")) == ["store.0003.db", "store.db"]
    assert (tmp_path / "sweeper.db").is_symlink()


def test_a_store_that_cannot_be_migrated_stays_as_it_was(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "sweeper.db"
    make(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE submission (mine)")  # which schema 0005 makes
    code, _, err = call("upgrade")
    assert (code, err.count("\n")) == (1, 1)
    assert "cannot be upgraded (table submission already exists); nothing was changed" in err
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0003",)]
        assert "derived_from" not in {row[1] for row in connection.execute("PRAGMA table_info(trial)")}


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ("CREATE TABLE notes (text)", "is not a Sweeper store, it holds another program's tables"),
        ("CREATE TABLE gone (text); DROP TABLE gone", "is not a Sweeper store, it is empty"),
        ((KEPT / "0006.sql").read_text() + "UPDATE alembic_version SET version_num = '9999'", "of a later version"),
    ],
)
def test_what_is_no_earlier_store_is_left_alone(call: Call, tmp_path: Path, statements: str, words: str) -> None:
    with closing(sqlite3.connect(tmp_path / "sweeper.db")) as connection:
        connection.executescript(statements)
    before = (tmp_path / "sweeper.db").read_bytes()
    code, _, err = call("upgrade")
    assert (code, words in err) == (1, True)
    assert (tmp_path / "sweeper.db").read_bytes() == before
    assert os.listdir(tmp_path) == ["sweeper.db"]


def test_nothing_is_made_where_there_is_no_store(call: Call, tmp_path: Path) -> None:
    code, _, err = call("upgrade")
    assert (code, "there is no such file" in err) == (1, True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "command", [["run", "sweep.yaml", "--executor", "local"], ["import", "a.log"], ["delete", "x"]]
)
def test_what_writes_migrates_nothing_by_itself(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "sweeper.db")
    (tmp_path / "a.log").write_text("1 2\n2 1\n")
    (tmp_path / "sweep.yaml").write_text("{name: a, trial: {command: ['true', '{x}']}, space: {x: [1]}}")
    before = (tmp_path / "sweeper.db").read_bytes()
    code, _, err = call(*command)
    assert (code, "run `sweeper upgrade` on it" in err) == (1, True)
    assert (tmp_path / "sweeper.db").read_bytes() == before


def test_a_new_store_needs_no_upgrade(call: Call, tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path / 'sweeper.db'}").close()
    assert "nothing was changed" in call("upgrade")[1]
