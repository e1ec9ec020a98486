"""Folders for data, empty and apart from this machine's, and a web server of our own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.data import folders


@dataclass(frozen=True)
class DataFolders:
    """Folders that data is looked for in; made by whoever puts something there."""

    own: Path
    debian: Path
    cache: Path

    @property
    def downloads(self) -> Path:
        """Where fetched files are kept."""
        return self.cache / "sweeper" / "data"


@pytest.fixture
def empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolders:
    """Nothing is found anywhere, no program is on the path, and no proxy stands before our own server."""
    found = DataFolders(tmp_path / "own", tmp_path / "debian", tmp_path / "cache")
    monkeypatch.setenv(folders.VARIABLE, str(found.own))
    monkeypatch.setattr(folders, "DEBIAN", found.debian)
    monkeypatch.setenv("XDG_CACHE_HOME", str(found.cache))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    monkeypatch.setenv("no_proxy", "*")
    return found


@dataclass
class Site:
    """A web server on this machine: what lies in `folder` is at `url`."""

    folder: Path
    url: str
    requests: list[str] = field(default_factory=list)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: object, requests: list[str], folder: Path) -> None:
        self._requests = requests
        super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        self._requests.append(self.path)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A running server of an empty folder; `requests` are the paths that were asked for."""
    folder = tmp_path / "site"
    folder.mkdir()
    requests: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, requests=requests, folder=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Site(folder, f"http://127.0.0.1:{server.server_port}", requests)
        server.shutdown()
        thread.join()
