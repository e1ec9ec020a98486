"""Exporting a sweep: the format from a file's name, the file whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from pathlib import Path

from sweeper.errors import DocumentError
from sweeper.interchange.formats import SWEEP_FORMATS, SweepFormat
from sweeper.interchange.sqlite_file import is_database
from sweeper.store.archived import Archive

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
    known = ", ".join(suffix for each in SWEEP_FORMATS.values() for suffix in each.suffixes)
    raise DocumentError(
        f"{target}: its ending says no format; known are {known}",
        f"use one of these, or --format {'|'.join(SWEEP_FORMATS)}",
    )


def target_path(target: str) -> Path:
    """The path that an option such as FILE.csv or sqlite:///FILE.db names."""
    return Path(target.removeprefix(_URL))


def write_export(archive: Archive, file_format: SweepFormat, target: str) -> Path:
    """Write a sweep to a file or a new folder, in place of a file that is there; folders above it are created.

    Returns the path.

    Raises:
        DocumentError: a place that cannot be written; a folder, or a database, in which something is already.
    """
    path = target_path(target)
    partial = path.parent / f".export-{secrets.token_hex(8)}.partial"
    try:
        _check_place(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file_format.write(archive, partial)
            if file_format.companion:
                os.replace(_beside(partial, file_format), _beside(path, file_format))
            os.replace(partial, path)
        finally:
            _remove(partial)
            _remove(_beside(partial, file_format))
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DocumentError(f"{path}: cannot be written ({why})", "name another place with -o") from None
    return path


def _beside(path: Path, file_format: SweepFormat) -> Path:
    return Path(f"{path}{file_format.companion}")


def _check_place(path: Path) -> None:
    if path.is_dir() and any(path.iterdir()):
        raise DocumentError(f"{path}: is a folder with something in it", "name a new one with -o")
    # A database may be somebody's only copy of much else, such as the store itself.
    if is_database(path):
        raise DocumentError(f"{path}: is a database already", "name a new file with -o, or remove this one")


def _remove(partial: Path) -> None:
    if partial.is_dir():
        shutil.rmtree(partial)
    partial.unlink(missing_ok=True)
