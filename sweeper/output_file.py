"""Where output goes: a file that is replaced whole, or a stream, device or pipe that is written straight."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sweeper.streams import ReaderGoneError

STANDARD_OUTPUT = "-"
_STDOUT = 1
_OUTPUT = "output"
_MOST_LINKS = 40


@dataclass(frozen=True)
class OutputPlace:
    """What the name of an output stands for.

    `path` is the file or folder that is made or replaced, or the device or pipe that is written, all symbolic links
    followed; None for an open descriptor of this process, as `-`, /dev/stdout or a shell's `>(…)` name one.
    """

    name: str
    path: Path | None
    descriptor: int | None = None

    @classmethod
    def of(cls, name: str | Path) -> OutputPlace:
        """Follow the links of a name. Raises OSError where they lead in a circle."""
        if name == STANDARD_OUTPUT:
            return cls(name, None, _STDOUT)
        path = Path(name)
        for _ in range(_MOST_LINKS):
            path = Path(os.path.realpath(path.parent), path.name)
            if path.name.isdecimal() and str(path.parent) in ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd"):
                return cls(str(name), None, int(path.name))
            if path.name in ("", "..") or not path.is_symlink():
                return cls(str(name), path)
            path = path.parent / os.readlink(path)
        raise OSError(None, "too many levels of symbolic links")

    @property
    def is_stream(self) -> bool:
        """Whether it is written straight: there is nothing to be replaced, and no second file beside it."""
        return self.path is None or (self.path.exists() and not self.path.is_file() and not self.path.is_dir())

    @property
    def is_standard_output(self) -> bool:
        """Whether messages must go elsewhere."""
        return self.descriptor == _STDOUT


def write_output(place: OutputPlace, write: Callable[[Path], object], companion: str = "") -> None:
    """Have `write` make a file or folder at a path that it is given, and put it where it belongs.

    A file appears whole or not at all, in place of what was there and with its permissions; folders above it are made.
    `companion` is added to its name for a second file, which `write` makes beside the first. A stream gets the first
    file's bytes, and no second one.

    Raises:
        ReaderGoneError: whoever read the stream has gone.
        OSError: the place cannot be written; what `write` raises.
    """
    if place.is_stream:
        _write_stream(place, write)
        return
    assert place.path is not None
    path = place.path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.parent / f".sweeper-{secrets.token_hex(8)}.partial"
    beside = Path(f"{partial}{companion}")
    try:
        write(partial)
        if companion:
            _put(beside, Path(f"{path}{companion}"))
        _put(partial, path)
    finally:
        for left in (partial, beside):
            if left.is_dir():
                shutil.rmtree(left)
            left.unlink(missing_ok=True)


def _put(partial: Path, path: Path) -> None:
    if partial.is_file():
        with suppress(FileNotFoundError):
            partial.chmod(path.stat().st_mode & 0o777)
    os.replace(partial, path)


def _write_stream(place: OutputPlace, write: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="sweeper-output-") as folder:
        write(Path(folder, _OUTPUT))
        try:
            with Path(folder, _OUTPUT).open("rb") as content, _opened(place) as stream:
                shutil.copyfileobj(content, stream)
                stream.flush()
        except BrokenPipeError as error:
            raise ReaderGoneError(None, error.strerror) from None


def _opened(place: OutputPlace) -> AbstractContextManager[BinaryIO]:
    if place.path is not None:
        return os.fdopen(os.open(place.path, os.O_WRONLY | os.O_NOCTTY), "wb")
    if place.name == STANDARD_OUTPUT:
        sys.stdout.flush()
        return nullcontext(sys.stdout.buffer)
    assert place.descriptor is not None
    return os.fdopen(os.dup(place.descriptor), "wb")
