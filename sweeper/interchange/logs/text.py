"""The lines of a log file: unpacked, decoded, and told apart."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from sweeper.errors import LogFormatError
from sweeper.interchange.logs.base import Line

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_ARCHIVES = {b"PK\x03\x04": "a ZIP archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!": "a RAR archive"}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_lines(path: Path) -> list[Line]:
    """All lines of a text file, without their line ends and the colours of a terminal.

    It may be compressed (gzip, xz, zstd, bzip2), and in UTF-8, or in UTF-16 with its mark.

    Raises:
        LogFormatError: it cannot be read, it is no text, or its compressed data break off.
    """
    text = _decode(path, read_bytes(path))
    lines = re.split(r"\r\n|\n|\r", text)
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    last = len(lines)
    return [Line(number, _COLOURS.sub("", line), ended or number < last) for number, line in enumerate(lines, start=1)]


def read_bytes(path: Path) -> bytes:
    """What a file holds, unpacked where it is compressed.

    Raises:
        LogFormatError: see `read_lines`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogFormatError(f"{path}: cannot be read ({error.strerror})", "give the path of a log file") from None
    for magic, what in _ARCHIVES.items():
        if data.startswith(magic):
            if path.suffix.lower() in (".xlsx", ".ods"):
                raise LogFormatError(f"{path}: is a spreadsheet", "save it as CSV, and import that")
            raise LogFormatError(f"{path}: is {what}", "unpack it, and import the files in it")
    unpack = packing_of(data)
    if unpack is None:
        return data
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise LogFormatError(
            f"{path}: its compressed data are damaged or break off ({' '.join(str(error).split())})",
            "copy the file again, or unpack what is left of it and import that",
        ) from None


def packing_of(data: bytes) -> Callable[[bytes], bytes] | None:
    """What unpacks some data, by their first bytes; None where they are not compressed."""
    return next((unpack for magic, unpack in _PACKINGS.items() if data.startswith(magic)), None)


def _unpack_zstd(data: bytes) -> bytes:
    import pyarrow

    with pyarrow.CompressedInputStream(io.BytesIO(data), "zstd") as stream:
        return bytes(stream.read())


def _unpack_xz(data: bytes) -> bytes:
    with lzma.open(io.BytesIO(data)) as stream:
        return stream.read()


_PACKINGS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ\x00": _unpack_xz,
    b"\x28\xb5\x2f\xfd": _unpack_zstd,
    b"BZh": bz2.decompress,
}


def _decode(path: Path, data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise LogFormatError(
            f"{path}: is not {name} text (byte {error.start})", "save it as UTF-8, or check that it is a log"
        ) from None
    if "\0" in text:
        raise LogFormatError(
            f"{path}: is not a text file (byte {data.find(0)} is zero)", "save it as UTF-8, or check that it is a log"
        )
    return text
