"""What is imported: whole sweeps and other programs' runs, told apart by a file's content; all else is a log."""

from __future__ import annotations

import csv
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sweeper.errors import DocumentError, SpecError
from sweeper.interchange.foreign import RUNS_READERS, ForeignOptions
from sweeper.interchange.formats import SWEEP_FORMATS, IncomingSweep, SweepFormat
from sweeper.interchange.logs.text import packing_of, read_bytes
from sweeper.interchange.sqlite_file import has_tables
from sweeper.spec.sweep_name import checked_name
from sweeper.store import Store
from sweeper.store.archives import Restored, restore

_NOT_OURS = {
    b"PAR1": "a Parquet file that `sweeper export` has not written",
    b"SQLite format 3": "a database of a kind that cannot be imported",
}


@dataclass(frozen=True)
class SweepSource:
    """A file that holds sweeps; `open` gives them, and `exported` tells whether `sweeper export` has written it.

    `format` is what `--format` calls its kind.
    """

    path: Path
    format: str
    exported: bool
    open: Callable[[ForeignOptions], Iterator[IncomingSweep]]

    def read(self, options: ForeignOptions) -> Iterator[IncomingSweep]:
        """The sweeps in it; `options` are for other programs' runs.

        Raises:
            DocumentError: it cannot be read; see also `SweepFormat` and `RunsReader`.
        """
        with readable(self.path):
            yield from self.open(options)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What libraries say of a file that they cannot read, as one clear error.

    Raises:
        DocumentError: it cannot be read.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: is no UTF-8 text (byte {error.start})", "export it again") from None
    except (OSError, sqlite3.Error, csv.Error, ValueError) as error:
        if isinstance(error, ValueError) and not type(error).__module__.startswith("pyarrow"):
            raise
        why = " ".join((getattr(error, "strerror", None) or str(error)).split())
        raise DocumentError(f"{path}: cannot be read ({why})", "name a file that can, or export it again") from None


@dataclass(frozen=True)
class ImportedSweep:
    """A sweep that has been stored, what it was read from, and what is to be said of that."""

    source: SweepSource
    name: str
    restored: Restored
    notes: tuple[str, ...]


def spooled(path: Path, folder: str) -> Path:
    """The path of a regular file or folder with the same content: of a pipe, or of `-`, a copy.

    Such an input can be read once, and it takes several looks to recognise one.

    Raises:
        DocumentError: it cannot be read.
    """
    standard = str(path) == "-"
    if not standard and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    copy = Path(folder, "standard-input" if standard else path.name)
    with readable(path), sys.stdin.buffer if standard else path.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def find_source(path: Path, name: str | None = None) -> SweepSource | None:
    """How to read sweeps from a path, or by the reader of this name; None for a log of a run.

    Raises:
        DocumentError: what is neither.
    """
    for written in SWEEP_FORMATS.values():
        if name in (None, written.name) and written.recognizes(path):
            return SweepSource(path, written.name, exported=True, open=partial(_read_exported, written, path))
    for runs in RUNS_READERS.values():
        if name in (None, runs.name) and runs.recognizes(path):
            return SweepSource(path, runs.name, exported=False, open=partial(runs.read, path))
    if name in (*SWEEP_FORMATS, *RUNS_READERS) and name != "csv":
        raise DocumentError(f"{path}: is not of the format {name}", "leave out --format, or name the one that it has")
    if path.is_dir():
        raise DocumentError(f"{path}: is a folder without TensorBoard's event files", "name a file, or another folder")
    beginning = _beginning(path)
    _check_packed(path, beginning)
    if has_tables(path, "sweep", "trial", "loss_point"):
        raise DocumentError(f"{path}: is a Sweeper store", "name it with --store, or export sweeps from it")
    for magic, what in _NOT_OURS.items():
        if beginning.startswith(magic):
            known = ", ".join([*SWEEP_FORMATS, *RUNS_READERS])
            raise DocumentError(f"{path}: is {what}", f"import one of {known}, or a log")
    return None


def _check_packed(path: Path, beginning: bytes) -> None:
    """Refuse a compressed file that is no log.

    Raises:
        DocumentError: it holds an export, or other runs.
    """
    if packing_of(beginning) is None:
        return
    with TemporaryDirectory() as folder:
        unpacked = Path(folder) / path.stem
        unpacked.write_bytes(read_bytes(path))
        found = next((one.name for one in SWEEP_FORMATS.values() if one.recognizes(unpacked)), None)
        found = found or next((one.name for one in RUNS_READERS.values() if one.recognizes(unpacked)), None)
    if found is not None:
        raise DocumentError(f"{path}: is a compressed file of the format {found}", "unpack it, and import that")


def store_sweeps(
    store: Store, sources: Sequence[SweepSource], options: ForeignOptions, name: str | None = None
) -> list[ImportedSweep]:
    """Store all sweeps of some files, or what is wrong with one of them and none; `name` is for a single one.

    Raises:
        DocumentError, LogFormatError, SpecError, MissingPackageError: see `SweepFormat` and `RunsReader`.
        StoreError: the store refuses.
    """
    imported: list[ImportedSweep] = []
    try:
        for source in sources:
            for incoming in source.read(options):
                if name is not None and imported:
                    raise SpecError(
                        ["--name: is for one sweep, and there are several; import one file after the other"]
                    )
                sweep = incoming.sweep if name is None else replace(incoming.sweep, name=_checked(name))
                with readable(source.path):  # its trials are read as they are stored
                    restored = restore(store, sweep, incoming.trials)
                imported.append(ImportedSweep(source, sweep.name, restored, tuple(incoming.notes)))
    except BaseException:  # an interrupt too
        for done in imported:
            store.sweeps.delete(done.restored.sweep_id)
        raise
    return imported


def _read_exported(written: SweepFormat, path: Path, _: ForeignOptions) -> Iterator[IncomingSweep]:
    return written.read(path)


def _checked(name: str) -> str:
    try:
        return checked_name(name)
    except ValueError as error:
        raise SpecError([f"--name: {name!r} {error}"]) from None


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError:
        return b""  # whoever reads it as a log says what is wrong
