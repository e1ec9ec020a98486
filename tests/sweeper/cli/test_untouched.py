"""Reading commands leave every database as it is: no byte changes, and no file appears beside it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import sweeper
from dashboards.app import create_app
from sweeper.answers.doctor import check_store
from sweeper.cli.main import main
from sweeper.errors import StoreError
from sweeper.store import open_store, read_store
from sweeper.store.schema import SCHEMA_HEAD

KEPT = Path(__file__).parent.parent.parent / "contracts" / "kept"
OLDER = [path.stem for path in sorted(KEPT.glob("*.sql")) if path.stem < SCHEMA_HEAD]
Kind = Callable[[Path], AbstractContextManager[None]]
READING = {
    "list": ["list"],
    "show": ["show", "latest"],
    "best": ["best", "latest"],
    "best-spec": ["best", "latest", "--spec"],
    "forecast": ["forecast", "latest", "--workers", "4"],
    "watch": ["watch", "latest"],
    "export": ["export", "latest", "--force", "--output", "OUT/sweep.json"],
    "plot": ["plot", "heatmap", "latest", "--output", "OUT/heatmap.png"],
}


def fill(path: Path, version: str = SCHEMA_HEAD) -> None:
    """A store as a version wrote it, three trials of it completed and one waiting."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript((KEPT / f"{version}.sql").read_text())
        if version == SCHEMA_HEAD:
            connection.execute("DELETE FROM submission")  # `watch` would wait for a service
    connection.close()


@contextmanager
def closed(path: Path) -> Iterator[None]:
    fill(path)
    yield


@contextmanager
def live(path: Path) -> Iterator[None]:
    """Somebody has it open, whose last change is in the -wal file."""
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sweep SET name = 'newest'")
    connection.commit()
    yield
    connection.close()


_WRITE_AND_DIE = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE sweep SET name = 'newest'")
connection.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def killed(path: Path) -> Iterator[None]:
    """Whoever wrote it last was killed, and its -wal and -shm files have stayed."""
    fill(path)
    done = subprocess.run([sys.executable, "-c", _WRITE_AND_DIE, path], check=False)
    assert done.returncode == -signal.SIGKILL
    yield


@contextmanager
def copied(path: Path) -> Iterator[None]:
    """It was copied together with its -wal file only."""
    with killed(path):
        Path(f"{path}-shm").unlink()
        yield


@contextmanager
def emptied(path: Path) -> Iterator[None]:
    """Its -wal file is there, without content."""
    fill(path)
    Path(f"{path}-wal").touch()
    yield


@contextmanager
def rollback(path: Path) -> Iterator[None]:
    """Not in WAL mode."""
    with sqlite3.connect(path) as connection:
        connection.executescript((KEPT / f"{SCHEMA_HEAD}.sql").read_text())
        connection.execute("DELETE FROM submission")
    connection.close()
    yield


@contextmanager
def foreign(path: Path) -> Iterator[None]:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    yield


@contextmanager
def of_alembic(path: Path) -> Iterator[None]:
    """Another program's, which uses Alembic as well."""
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE TABLE alembic_version (version_num); CREATE TABLE trial (id);")
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    connection.close()
    yield


@contextmanager
def empty(path: Path) -> Iterator[None]:
    path.touch()
    yield


@contextmanager
def missing(_: Path) -> Iterator[None]:
    yield


@contextmanager
def later(path: Path) -> Iterator[None]:
    fill(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    yield


def older(version: str) -> Kind:
    @contextmanager
    def of_version(path: Path) -> Iterator[None]:
        fill(path, version)
        yield

    return of_version


READABLE: dict[str, Kind] = {each.__name__: each for each in (closed, live, killed, copied, emptied, rollback)}
REFUSED: dict[str, Kind] = {each.__name__: each for each in (foreign, of_alembic, empty, missing, later)}
REFUSED |= {version: older(version) for version in OLDER}
WHY = {
    "foreign": "is not a Sweeper store, it holds another program's tables; name another file",
    "of_alembic": "is not a Sweeper store, it holds another program's tables; name another file",
    "empty": "is not a Sweeper store, it is empty; `sweeper run SPEC`",
    "missing": "there is no such file; `sweeper run SPEC`",
    "later": f"has schema 9999 of a later version, and this version knows {SCHEMA_HEAD} at most; install a newer",
    **{version: f"has schema {version} of an earlier version, and this version needs" for version in OLDER},
}


def content(folder: Path) -> dict[str, bytes]:
    """All files, but for what is in a -shm file: it belongs to whoever has the database open, and is no data."""
    return {p.name: b"" if p.name.endswith("-shm") else p.read_bytes() for p in sorted(folder.iterdir())}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a store may be, with nothing beside it."""
    folder = tmp_path / "a #1 folder"
    folder.mkdir()
    return folder / "sweeper.db"


def run(arguments: list[str], path: Path, out: Path) -> int:
    with pytest.raises(SystemExit) as exit_:
        main([one.replace("OUT", str(out)) for one in arguments] + ["--store", f"sqlite:///{path}"])
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", [*READABLE, *REFUSED])
def test_reading_leaves_it_untouched(
    kind: str, command: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (READABLE | REFUSED)[kind](place):
        before = content(place.parent)
        code = run(READING[command], place, tmp_path)
        assert content(place.parent) == before
        out, err = capsys.readouterr()
        if kind in REFUSED:
            assert (code, err.count("\n")) == (1, 1)
            assert WHY[kind] in err
        elif command != "forecast":
            assert code == 0, err
            assert command in ("plot", "best-spec") or ("newest" in out) == (kind in ("live", "killed", "copied"))


@pytest.mark.parametrize("kind", [*READABLE, *REFUSED])
def test_python_doctor_and_pages_leave_it_untouched(kind: str, place: Path) -> None:
    with (READABLE | REFUSED)[kind](place):
        before = content(place.parent)
        (finding,) = check_store(f"sqlite:///{place}")
        assert finding.status == ("ok" if kind in READABLE or kind == "missing" else "failed")
        if kind in REFUSED:
            with pytest.raises(StoreError):
                sweeper.open(place)
        else:
            with sweeper.open(place) as sweeps:
                assert len(sweeps.sweep("latest").trials()) == 4
            store = read_store(f"sqlite:///{place}")
            with TestClient(create_app(store), base_url="http://127.0.0.1:8400") as client:
                assert "kept" in client.get("/").text or kind in ("live", "killed", "copied")
                assert client.get("/api/v1/sweeps/latest/best").status_code == 200
                for change in ("/sweeps/latest/stop", "/sweeps/latest/resume"):
                    answer = client.post(f"/api/v1{change}")
                    assert (answer.status_code, answer.json()["error"]["kind"]) == (403, "access")
            store.close()
        assert content(place.parent) == before


def test_a_reader_sees_what_is_written_meanwhile(place: Path) -> None:
    """Also when nobody had the file open before, and when nobody has it open any more."""
    open_store(f"sqlite:///{place}").close()
    reader = read_store(f"sqlite:///{place}")
    for known in range(3):
        assert len(reader.sweeps.all()) == known
        with sqlite3.connect(place) as writer:
            writer.execute(
                "INSERT INTO sweep (id, name, origin, over, group_by, created_at) "
                f"VALUES ('{known}', 'a', 'run', 'seconds', '[]', '2026-01-01')"
            )
        assert len(reader.sweeps.all()) == known + 1
        writer.close()
    assert len(reader.sweeps.all()) == 3
    with pytest.raises(StoreError, match="is open for reading only"):
        reader.sweeps.delete("1")
    reader.close()


def test_what_changes_under_a_reader_is_read_again(place: Path) -> None:
    """A writer may open, change and close the file while somebody reads it who found it closed."""
    fill(place)
    reader = read_store(f"sqlite:///{place}")
    seen: list[str] = []

    def read(connection: object) -> str:
        name = connection.exec_driver_sql("SELECT name FROM sweep").scalar()  # type: ignore[attr-defined]
        if not seen:
            with sqlite3.connect(place) as writer:
                writer.execute("UPDATE sweep SET name = 'newest'")
            writer.close()
        seen.append(name)
        return str(name)

    assert reader.transactions.read(read) == "newest"
    assert seen == ["kept", "newest"]
    reader.close()


def test_a_file_is_complete_though_somebody_reads_while_its_writer_ends(place: Path, tmp_path: Path) -> None:
    fill(place)
    writer = open_store(f"sqlite:///{place}")
    (sweep,) = writer.sweeps.all()
    writer.sweeps.ask_to_stop(sweep.id)
    reader = sqlite3.connect(f"file:{str(place).replace('#', '%23')}?mode=ro", uri=True)
    assert reader.execute("SELECT count(*) FROM sweep").fetchall() == [(1,)]
    writer.close()
    shutil.copyfile(place, tmp_path / "copy.db")
    reader.close()
    copy = read_store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert copy.sweeps.stop_is_asked(sweep.id)
    copy.close()


_READ_ALL = """
import os, sys
from sweeper.cli.main import main
from tests.sweeper.cli.test_untouched import QUICK, READING
spare, out, user, *paths = sys.argv[1:]
for path in (spare, *paths):  # what the first needs is loaded by the own user: it may lie in folders of his
    for name in QUICK:
        try:
            main([one.replace("OUT", out) for one in READING[name]] + ["--store", "sqlite:///" + path])
        except SystemExit as ended:
            assert not ended.code, (path, name)
    if user:
        os.seteuid(int(user))
"""
QUICK = ("list", "show", "best", "export", "plot")


@contextmanager
def all_kinds(root: Path) -> Iterator[list[Path]]:
    """A folder with a store for each kind of those that can be read."""
    with ExitStack() as kinds:
        for kind, make in READABLE.items():
            (root / kind).mkdir()
            kinds.enter_context(make(root / kind / "sweeper.db"))
        yield [root / kind / "sweeper.db" for kind in READABLE]


@pytest.fixture
def spare(tmp_path: Path) -> Path:
    fill(tmp_path / "spare.db")
    return tmp_path / "spare.db"


def test_who_may_only_read_can_read(spare: Path) -> None:
    """Files and folders without permission to write."""
    with tempfile.TemporaryDirectory() as name, all_kinds(Path(name)) as paths:
        before = [content(path.parent) for path in paths]
        out = Path(name, "out")
        for path in (Path(name), *(path.parent for path in paths), *(f for p in paths for f in p.parent.iterdir())):
            path.chmod(0o555 if path.is_dir() else 0o444)
        out.mkdir()
        out.chmod(0o777)
        user = "65534" if os.geteuid() == 0 else ""  # nothing is forbidden to root
        done = subprocess.run(
            [sys.executable, "-c", _READ_ALL, str(spare), str(out), user, *map(str, paths)],
            capture_output=True,
            check=False,
        )
        for path in (Path(name), *(path.parent for path in paths)):
            path.chmod(0o755)
        assert done.returncode == 0, done.stderr.decode()
        assert [content(path.parent) for path in paths] == before


_MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def mounts() -> bool:
    """Whether this user may mount here."""
    return not subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode


@pytest.mark.skipif(not mounts(), reason="needs the right to mount")
def test_a_store_on_a_read_only_mount_can_be_read(tmp_path: Path, spare: Path) -> None:
    (tmp_path / "stores").mkdir()
    with all_kinds(tmp_path / "stores") as paths:
        before = [content(path.parent) for path in paths]
        mounted = ["unshare", "-m", "sh", "-c", _MOUNTED, str(tmp_path / "stores")]
        command = [*mounted, sys.executable, "-c", _READ_ALL, str(spare), str(tmp_path), "", *map(str, paths)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert [content(path.parent) for path in paths] == before


@pytest.mark.skipif(not mounts(), reason="needs the right to mount")
def test_who_may_only_read_is_told_so_before_anything_starts(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    fill(folder / "sweeper.db")
    sweep_py = [sys.executable, "-m", "sweeper.cli", "resume", "latest", "--store", f"sqlite:///{folder}/sweeper.db"]
    command = ["unshare", "-m", "sh", "-c", _MOUNTED, str(folder), *sweep_py]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(
        f"cannot be written ({folder}/sweeper.db is read-only); name another place, or change its permissions\n"
    )
