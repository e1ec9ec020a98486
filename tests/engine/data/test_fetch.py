"""Fetching a file: complete and with the right checksum, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.data.fetch import FetchError, check, digest, download, from_debian_package, locked
from tests.engine.data.conftest import DataFolders, Site
from tests.processes import eventually

pytestmark = pytest.mark.usefixtures("empty_folders")
CONTENT = b"some pictures" * 1000
SHA = hashlib.sha256(CONTENT).hexdigest()


def test_a_file_comes_whole(site: Site, tmp_path: Path) -> None:
    (site.folder / "a.bin").write_bytes(CONTENT)
    target = tmp_path / "deep" / "down" / "b.bin"
    download(f"{site.url}/a.bin", target, SHA)
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["b.bin"]


@pytest.fixture
def babbler() -> Iterator[str]:
    """A server that speaks no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"hello there\r\n" * 3)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/a.bin"
        thread.join(10)


FETCH = """
import sys
from pathlib import Path
from engine.data.fetch import download, locked
url, target, expected = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
with locked(target.parent):
    if not target.is_file():
        download(url, target, expected)
print(len(target.read_bytes()))
"""


@dataclass
class Stalling:
    """A server that stops in the middle of its first answer, and gives the later ones whole; `requests` so far."""

    url: str = ""
    requests: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def stalling() -> Iterator[Stalling]:
    found = Stalling()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requests += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            if found.requests > 1:
                self.wfile.write(CONTENT)
                return
            self.wfile.write(CONTENT[:5000])
            self.wfile.flush()
            found.over.wait()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}/a.bin"
        yield found
        found.over.set()
        server.shutdown()
        thread.join()


def test_a_killed_download_holds_nobody_up_and_leaves_nothing_half(stalling: Stalling, tmp_path: Path) -> None:
    target = tmp_path / "data" / "b.bin"
    command = [sys.executable, "-c", FETCH, stalling.url, str(target), SHA]
    first = subprocess.Popen(command)
    assert eventually(lambda: stalling.requests == 1 and len(list(target.parent.glob(".partial-*"))) == 1, 60)
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    first.kill()
    assert [process.communicate(timeout=60)[0] for process in others] == [f"{len(CONTENT)}\n"] * 3
    assert stalling.requests == 2
    assert {path.name for path in target.parent.iterdir()} <= {"b.bin", ".lock"}
    first.wait()


def assert_nothing_comes(url: str, target: Path, expected: str, reason: str) -> None:
    target.write_bytes(b"what was there")
    with pytest.raises(FetchError, match=reason):
        download(url, target, expected)
    assert target.read_bytes() == b"what was there"
    assert list(target.parent.iterdir()) == [target]


def test_a_wrong_checksum_changes_nothing(site: Site, tmp_path: Path) -> None:
    (site.folder / "a.bin").write_bytes(CONTENT[:-1])
    (tmp_path / "target").mkdir()
    assert_nothing_comes(f"{site.url}/a.bin", tmp_path / "target" / "a.bin", SHA, f"instead of {SHA[:12]}…")


def test_an_address_without_the_file_changes_nothing(site: Site, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    assert_nothing_comes(f"{site.url}/a.bin", tmp_path / "target" / "a.bin", SHA, "a.bin: File not found")


def test_an_address_where_nobody_is_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    assert_nothing_comes("http://127.0.0.1:1/a.bin", tmp_path / "target" / "a.bin", SHA, "127.0.0.1:1/a.bin: ")


def test_an_answer_that_is_no_http_changes_nothing(babbler: str, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    assert_nothing_comes(babbler, tmp_path / "target" / "a.bin", SHA, "a.bin: hello there")


def test_a_folder_that_cannot_be_made_is_said(site: Site, tmp_path: Path) -> None:
    (site.folder / "a.bin").write_bytes(CONTENT)
    (tmp_path / "file").touch()
    with pytest.raises(FetchError):
        download(f"{site.url}/a.bin", tmp_path / "file" / "a.bin", SHA)
    with pytest.raises(FetchError, match="cannot be written"), locked(tmp_path / "file" / "below"):
        pass


def test_the_digest_of_gzip_is_its_contents(tmp_path: Path) -> None:
    one, other, archive = tmp_path / "one.gz", tmp_path / "other.gz", tmp_path / "a.tar.gz"
    one.write_bytes(gzip.compress(CONTENT, mtime=1))
    other.write_bytes(gzip.compress(CONTENT, 1, mtime=2))
    archive.write_bytes(one.read_bytes())
    assert digest(one) == digest(other) == SHA
    assert digest(archive) == hashlib.sha256(one.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(CONTENT)[:-9], b"\x1f\x8b\x08" + b"\0" * 7 + b"\xff" * 50],
    ids=["not gzip", "cut short", "damaged"],  # compressed bytes hold the time, and processes would differ
)
def test_a_file_whose_digest_cannot_be_had_fails_the_check(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    with pytest.raises(FetchError, match=r"a\.gz: cannot be read"):
        check(path, SHA)


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "new"):
        raise KeyError
    with locked(tmp_path / "new"):
        assert (tmp_path / "new").is_dir()


def test_without_apt_there_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="apt-get is not on this machine"):
        from_debian_package("dataset", "/usr/share", tmp_path, {})


def test_an_apt_that_fails_says_why(empty_folders: DataFolders, tmp_path: Path) -> None:
    """Also the second try, with package lists of our own."""
    program = tmp_path / "no-programs" / "apt-get"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "E: no $*" >&2\nexit 100\n')
    program.chmod(0o755)
    with pytest.raises(FetchError, match=r"apt-get .* update: E: no -oDir::State::Lists=.* update"):
        from_debian_package("dataset", "/usr/share", empty_folders.own, {})
