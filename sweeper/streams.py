"""Standard output and standard error: what they cannot show is escaped, and losing them ends no sweep."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

_ESCAPED = "backslashreplace"
_REPLACED = ("strict", "surrogateescape")  # ways of dealing with odd characters; others were asked for


class LostStreamError(OSError):
    """Standard output or standard error cannot be written."""


class ReaderGoneError(LostStreamError):
    """Whoever read the output has closed the pipe, as `head` does.

    Not a BrokenPipeError: rich and click end the process at one.
    """


class _Losses:
    """Whether what cannot be written is dropped."""

    are_ignored = False


def prepare_streams() -> None:
    """Have the streams escape what their encoding cannot show, and `losses_ignored` work; for entry points.

    Descriptors that are closed get /dev/null, or the next file that is opened would take their place, and get what is
    printed. Streams that somebody has put into the place of Python's own stay.
    """
    _Losses.are_ignored = False
    closed = [number for number in range(3) if _fill(number)]
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(sys.stdout, 1, is_closed=1 in closed)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(sys.stderr, 2, is_closed=2 in closed)


@contextmanager
def losses_ignored() -> Iterator[None]:
    """Within the block, what the streams cannot write is dropped: a pipe that is closed ends no sweep."""
    before, _Losses.are_ignored = _Losses.are_ignored, True
    try:
        yield
    finally:
        _Losses.are_ignored = before


def ignore_losses() -> None:
    """From now on, drop what the streams cannot write; also what still waits to be written."""
    _Losses.are_ignored = True


def json_text(value: Any, stream: TextIO | None, indent: int | None = None) -> str:
    """A value as JSON, with escapes for all but ASCII if the stream cannot show it as it is."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if can_show(text, stream) else json.dumps(value, indent=indent)


def can_show(text: str, stream: TextIO | None) -> bool:
    """Whether a stream's encoding has all characters of a text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Unfailing:
    """A text stream of somebody else's, used so that writing to it never fails.

    What it cannot show is escaped, and what it cannot write is dropped.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream: TextIO = cast(TextIO, io.StringIO()) if stream is None else stream

    def write(self, text: str) -> int:
        """Write what can be written; all of it counts."""
        with suppress(OSError, ValueError):  # gone, full; closed
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                encoding = self._stream.encoding
                self._stream.write(text.encode(encoding, _ESCAPED).decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Descriptor(io.FileIO):
    """A descriptor whose errors are ours to ignore."""

    def __init__(self, number: int, *, is_closed: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._is_lost = is_closed

    def write(self, data: Any) -> int:
        if not self._is_lost:
            try:
                return super().write(data) or 0
            except OSError as error:
                if not _Losses.are_ignored:
                    raise _lost(error) from None
                self._is_lost = True
                _silence(self.fileno())
        if not _Losses.are_ignored:
            raise LostStreamError(errno.EBADF, "it is closed")
        return len(data)


def _lost(error: OSError) -> LostStreamError:
    if isinstance(error, BrokenPipeError):
        return ReaderGoneError(None, error.strerror)
    return LostStreamError(error.errno, error.strerror)


def _silence(number: int) -> None:
    """Have what else writes to a descriptor, such as a child process, write to nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def _fill(number: int) -> bool:
    """Open /dev/null in place of a descriptor that is closed; whether it was."""
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number)
        if null != number:
            os.close(null)
        return True
    return False


def _stream(before: TextIO | None, number: int, *, is_closed: bool) -> TextIO:
    """A stream on a descriptor like the one before; None as that one stands for one that was closed."""
    errors = (before and before.errors) or "strict"
    return io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(number, is_closed=is_closed)),
        encoding=before.encoding if before else "utf-8",
        errors=_ESCAPED if errors in _REPLACED else errors,
        line_buffering=number == 2 or (before is not None and before.isatty()),
    )
