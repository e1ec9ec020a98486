"""Decoded pictures kept in the user's cache, mapped into every rank: decoded once, one copy in memory."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.base import Arrays
from engine.data.fetch import FetchError, locked, temporary_beside
from engine.data.folders import cache_folder

logger = logging.getLogger(__name__)


def decoded(name: str, sources: Sequence[Path], decode: Callable[[], Arrays]) -> Arrays:
    """`decode()`, or what it gave for these very files before; without a writable cache, decoded anew."""
    folder = cache_folder() / "decoded" / f"{name}-{_fingerprint(sources)}"
    files = folder / "inputs.npy", folder / "targets.npy"
    if not _all_there(files):
        with _locked_where_possible(folder):
            if not _all_there(files):
                inputs, targets = decode()
                try:
                    _write(files[0], inputs)
                    _write(files[1], targets)
                except OSError as error:
                    logger.warning("cannot keep decoded %s (%s); decoding it each time", name, error)
                    return inputs, targets
    return np.load(files[0], mmap_mode="r"), np.load(files[1], mmap_mode="r")


def _all_there(files: tuple[Path, ...]) -> bool:
    return all(os.path.exists(file) for file in files)


@contextlib.contextmanager
def _locked_where_possible(folder: Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FetchError):
            stack.enter_context(locked(folder))
        yield


def _fingerprint(sources: Sequence[Path]) -> str:
    sha = hashlib.sha256()
    for path in sources:
        status = path.stat()
        sha.update(f"{path.resolve()} {status.st_size} {status.st_mtime_ns}\n".encode())
    return sha.hexdigest()[:16]


def _write(file: Path, array: NDArray[Any]) -> None:
    with temporary_beside(file) as partial:
        with partial.open("wb") as handle:
            np.save(handle, array)
        os.replace(partial, file)
