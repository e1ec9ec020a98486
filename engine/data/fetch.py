"""Fetching a file once: over HTTP with a checksum, under a lock, never half."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import logging
import os
import subprocess
import tempfile
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

logger = logging.getLogger(__name__)

_TIMEOUT_S = 30.0
_BLOCK = 1 << 20
_PARTIAL = ".partial-"  # begins the names of files that are being written


class FetchError(Exception):
    """One way of getting a file did not work; the message says which and why."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that ranks that start together fetch and decode once.

    The system gives it back if its holder is killed. What that has left half done is removed by the next one.

    Raises:
        FetchError: the folder cannot be made or written.
    """
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise FetchError(f"{folder}: cannot be written ({error.strerror})") from None
    try:
        with contextlib.suppress(OSError):  # they only take room
            for left in folder.glob(f"{_PARTIAL}*"):
                left.unlink()
        yield
    finally:
        lock.release()


def digest(path: Path) -> str:
    """SHA-256 of a file's content; of the uncompressed content where the file is gzip, whose headers vary."""
    compressed = path.suffix == ".gz" and not path.name.endswith(".tar.gz")
    sha = hashlib.sha256()
    with gzip.open(path) if compressed else path.open("rb") as file:
        while block := file.read(_BLOCK):
            sha.update(block)
    return sha.hexdigest()


def check(path: Path, expected: str) -> None:
    """Compare a file's digest.

    Raises:
        FetchError: it differs, or the file cannot be read.
    """
    try:
        found = digest(path)
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{path.name}: cannot be read ({error})") from None
    if found != expected:
        raise FetchError(f"{path.name}: checksum {found[:12]}… instead of {expected[:12]}…")


def download(url: str, target: Path, expected: str) -> None:
    """Fetch `url` into `target`, complete and with the expected digest, or not at all.

    Raises:
        FetchError: the address does not answer, or answers something else.
    """
    logger.info("fetching %s", url)
    try:
        with temporary_beside(target) as partial:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer, partial.open("wb") as file:
                while block := answer.read(_BLOCK):
                    file.write(block)
            check(partial, expected)
            os.replace(partial, target)
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(f"{url}: {getattr(error, 'reason', error)!s}") from None


def from_debian_package(package: str, folder: str, target: Path, checksums: dict[str, str]) -> None:
    """Take `checksums`' files out of a Debian package's `folder` into `target`, without installing it or being root.

    Raises:
        FetchError: no apt here, no such package, or other content than expected.
    """
    with tempfile.TemporaryDirectory(prefix="sweeper-apt-") as name:
        work = Path(name)
        _apt_download(package, work)
        archive = next(iter(work.glob("*.deb")), None)
        if archive is None:
            raise FetchError(f"Debian package {package}: apt-get brought nothing")
        _run(["dpkg-deb", "--extract", str(archive), str(work / "content")])
        found = work / "content" / folder.lstrip("/")
        for file, expected in checksums.items():
            check(found / file, expected)
            with temporary_beside(target / file) as partial:
                partial.write_bytes((found / file).read_bytes())
                os.replace(partial, target / file)


def _apt_download(package: str, work: Path) -> None:
    try:
        _run(["apt-get", "download", package], work)
    except FetchError:
        # Package lists are missing or old, and refreshing the system's would need root: use lists of our own.
        own = [f"-oDir::State::Lists={work / 'lists'}", f"-oDir::Cache={work / 'cache'}"]
        (work / "lists" / "partial").mkdir(parents=True)
        (work / "cache" / "archives" / "partial").mkdir(parents=True)
        _run(["apt-get", *own, "update"], work)
        _run(["apt-get", *own, "download", package], work)


def _run(command: list[str], folder: Path | None = None) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise FetchError(f"{command[0]} is not on this machine") from None
    except subprocess.TimeoutExpired:
        raise FetchError(f"{command[0]} did not end within 300 s") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "").strip().splitlines()
        raise FetchError(f"{' '.join(command[:1] + command[-2:])}: {said[-1] if said else 'failed'}") from None


@contextlib.contextmanager
def temporary_beside(target: Path) -> Iterator[Path]:
    """A unique name in the target's folder, which is locked, for `os.replace`; gone afterwards if still there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    begin, end = f"{_PARTIAL}{target.stem}-", "".join(target.suffixes)
    handle, name = tempfile.mkstemp(prefix=begin, suffix=end, dir=target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
