"""CIFAR-10 (Krizhevsky 2009): 32 x 32 colour pictures in 10 classes, in every layout that people have of it."""

from __future__ import annotations

import io
import pickle
import tarfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.data.base import Arrays, DataSet, checked
from engine.data.decoded import decoded
from engine.data.fetch import FetchError, download, locked
from engine.data.folders import VARIABLE, downloads, roots
from engine.errors import DataError

NAME = "cifar10"
URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
CHECKSUM = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"  # SHA-256 of that archive
_SHAPE, _CLASSES = (3, 32, 32), 10
_RECORD = 1 + 3 * 32 * 32  # a class and its picture in the binary files
_BLOCK = 1 << 20
_BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}


def load(split: str) -> DataSet:
    """50,000 pictures for training or 10,000 for testing.

    Raises:
        DataError: the files are nowhere, cannot be fetched, or are damaged.
    """
    files, decode = find(split) or _fetch(split)
    try:
        inputs, targets = decoded(f"{NAME}-{split}", files, lambda: checked(decode(), _SHAPE, _CLASSES))
    except Exception as error:  # pickles, archives and pictures that are damaged raise whatever Python does
        raise DataError(
            f"data {NAME}: {files[0]} is damaged ({error})", "replace it, or remove it to have it fetched"
        ) from error
    return DataSet(NAME, inputs, targets, _CLASSES, mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616))


def locate() -> Path | None:
    """The first file of the training pictures, if they are on this machine."""
    found = find("train")
    return found[0][0] if found else None


Found = tuple[list[Path], Callable[[], Arrays]]  # the files of a split, and what decodes them


def find(split: str) -> Found | None:
    """The split in the first of the roots that has it in any layout."""
    for root in roots():
        for folder in (root / NAME, root):
            for layout in (_parquet, _python_batches, _binary_batches, _archive):
                found = layout(folder, split)
                if found:
                    return found
    return None


def _fetch(split: str) -> Found:
    """The split in the original archive, fetched into the user's cache.

    Raises:
        DataError: it cannot be fetched.
    """
    target = downloads() / NAME / "cifar-10-python.tar.gz"
    try:
        with locked(target.parent):
            if not target.is_file():
                download(URL, target, CHECKSUM)
    except FetchError as error:
        raise DataError(
            f"data {NAME}: not found in {', '.join(str(root / NAME) for root in roots())}, and not to be fetched "
            f"({error})",
            f"put its parquet files, cifar-10-batches-py, cifar-10-batches-bin or a tar file of these into a "
            f"folder {NAME} and set {VARIABLE} to the folder above, or connect to the internet",
        ) from None
    found = _archive(target.parent, split)
    assert found is not None
    return found


def _parquet(folder: Path, split: str) -> Found | None:
    for place in (folder, folder / "data", folder / "plain_text"):
        files = sorted(place.glob(f"{split}-*.parquet"))
        if files:
            return files, partial(_decode_parquet, files)
    return None


def _python_batches(folder: Path, split: str) -> Found | None:
    return _complete(folder / "cifar-10-batches-py", _BATCHES[split], _decode_python)


def _binary_batches(folder: Path, split: str) -> Found | None:
    return _complete(folder / "cifar-10-batches-bin", [f"{name}.bin" for name in _BATCHES[split]], _decode_binary)


def _complete(folder: Path, names: list[str], decode: Callable[[BinaryIO], Arrays]) -> Found | None:
    files = [folder / name for name in names]
    if not all(file.is_file() for file in files):
        return None
    return files, lambda: _joined(decode(io.BytesIO(file.read_bytes())) for file in files)


def _archive(folder: Path, split: str) -> Found | None:
    for kind, suffix, decode in (("python", "", _decode_python), ("binary", ".bin", _decode_binary)):
        names = [f"{name}{suffix}" for name in _BATCHES[split]]
        for ending in (".tar.gz", ".tar"):
            file = folder / f"cifar-10-{kind}{ending}"
            if file.is_file():
                return [file], partial(_decode_archive, file, names, decode)
    return None


def _decode_archive(file: Path, names: list[str], decode: Callable[[BinaryIO], Arrays]) -> Arrays:
    batches: dict[str, Arrays] = {}
    with tarfile.open(file) as archive:
        for member in archive:
            name = Path(member.name).name
            content = archive.extractfile(member) if name in names else None
            if content is not None:
                batches[name] = decode(io.BytesIO(content.read()))
        # To the very end, where gzip has its checksum: tarfile stops before it.
        while archive.fileobj is not None and archive.fileobj.read(_BLOCK):
            pass
    return _joined(batches[name] for name in names)


def _decode_parquet(files: list[Path]) -> Arrays:
    import pyarrow.parquet
    from PIL import Image

    pictures, classes = [], []
    for file in files:
        table = pyarrow.parquet.read_table(file)
        for picture in table.column("img").to_pylist():
            pixels = np.asarray(Image.open(io.BytesIO(picture["bytes"])).convert("RGB"))
            pictures.append(pixels.transpose(2, 0, 1))
        classes.append(table.column("label").to_numpy())
    return np.stack(pictures).astype(np.uint8), np.concatenate(classes).astype(np.int64)


def _decode_python(file: BinaryIO) -> Arrays:
    batch = _ArrayUnpickler(file, encoding="bytes").load()
    return np.asarray(batch[b"data"], np.uint8).reshape(-1, *_SHAPE), np.asarray(batch[b"labels"], np.int64)


def _decode_binary(file: BinaryIO) -> Arrays:
    records = np.frombuffer(file.read(), np.uint8).reshape(-1, _RECORD)
    return records[:, 1:].reshape(-1, *_SHAPE), records[:, 0].astype(np.int64)


def _joined(batches: Iterable[Arrays]) -> Arrays:
    pictures, classes = zip(*batches, strict=True)
    return np.concatenate(pictures), np.concatenate(classes)


class _ArrayUnpickler(pickle.Unpickler):
    """Reads arrays and plain values only: a pickle from elsewhere could run any code otherwise."""

    _ALLOWED = frozenset(
        {
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy._core.numeric", "_frombuffer"),
            ("_codecs", "encode"),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        """The named class, if it is one that arrays need."""
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}, which no CIFAR-10 batch needs")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)
