"""Exporting a sweep: the format from a file's name, the file whole or not there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sweeper.errors import DocumentError
from sweeper.interchange.formats import SWEEP_FORMATS, SweepFormat
from sweeper.interchange.sqlite_file import is_database
from sweeper.output_file import STANDARD_OUTPUT, OutputPlace, write_output
from sweeper.store.archived import Archive
from sweeper.streams import ReaderGoneError

_URL = "sqlite:///"


def export_format(target: str, name: str | None = None) -> SweepFormat:
    """The format of this name, else the one that the target's ending chooses.

    Raises:
        DocumentError: an ending that chooses none.
    """
    if name is not None:
        return SWEEP_FORMATS[name]
    suffix = target_path(target).suffix.lower()
    for each in SWEEP_FORMATS.values():
        if suffix in each.suffixes:
            return each
    if target == STANDARD_OUTPUT:
        raise DocumentError("-: standard output has no ending that names a format", "add --format csv, parquet or json")
    known = ", ".join(suffix for each in SWEEP_FORMATS.values() for suffix in each.suffixes)
    raise DocumentError(
        f"{target}: its ending says no format; known are {known}",
        f"use one of these, or --format {'|'.join(SWEEP_FORMATS)}",
    )


def target_path(target: str) -> Path:
    """The path that an option such as FILE.csv or sqlite:///FILE.db names."""
    return Path(target.removeprefix(_URL))


def export_place(target: str, file_format: SweepFormat, *, force: bool = False) -> OutputPlace:
    """Where an export goes, looked at before anything is read.

    Raises:
        DocumentError: a file is there and `force` is not given; a folder, or a database, in which something is
            already; a stream that cannot take the format.
    """
    try:
        place = OutputPlace.of(target.removeprefix(_URL))
    except OSError as error:
        raise _not_written(target, error) from None
    if place.is_stream:
        if not file_format.is_one_stream:
            raise DocumentError(
                f"{target}: takes a stream of bytes, and {file_format.name} is a folder or a database",
                "name a file or folder with -o, or another --format",
            )
        return place
    assert place.path is not None
    _check_place(place.path, file_format, force=force)
    return place


def write_export(archive: Archive, file_format: SweepFormat, target: str, *, force: bool = False) -> Path:
    """Write a sweep to a new file or folder, or with `force` in place of a file; folders above it are created.

    A stream gets it without the companion file. Returns the path.

    Raises:
        DocumentError: as `export_place`, or the place cannot be written.
        ReaderGoneError: whoever read the stream has gone.
    """
    place = export_place(target, file_format, force=force)
    try:
        write_output(place, lambda path: file_format.write(archive, path), file_format.companion)
    except ReaderGoneError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise _not_written(place.name, error) from None
    return target_path(target)


def _check_place(path: Path, file_format: SweepFormat, *, force: bool) -> None:
    if path.is_dir() and any(path.iterdir()):
        raise DocumentError(f"{path}: is a folder with something in it", "name a new one with -o")
    # A database may be somebody's only copy of much else, such as the store itself.
    if path.is_file() and is_database(path):
        raise DocumentError(f"{path}: is a database already", "name a new file with -o, or remove this one")
    for there in {path, Path(f"{path}{file_format.companion}")}:
        if there.is_file() and not force:
            raise DocumentError(f"{there}: is there already", "name a new file with -o, or replace it with --force")


def _not_written(name: str, error: Exception) -> DocumentError:
    why = getattr(error, "strerror", None) or str(error)
    return DocumentError(f"{name}: cannot be written ({why})", "name another place with -o")
