"""CIFAR-10 files in each of the layouts that people have, made of a few random pictures."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from PIL import Image

from engine.data.base import Arrays

BATCHES = [f"data_batch_{i}" for i in range(1, 6)]


def random_split(count: int, seed: int = 0) -> Arrays:
    """Random pictures [count, 3, 32, 32] in classes."""
    random = np.random.default_rng(seed)
    pictures = random.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8)
    return pictures, random.integers(0, 10, count, dtype=np.int64)


def python_2_batch(pictures: np.ndarray, classes: np.ndarray) -> bytes:
    """A batch as the original's: a dictionary pickled by Python 2 and NumPy 1, with byte strings for keys."""
    rows = pictures.reshape(len(pictures), -1)
    array = b"".join(
        [
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R",
            b"(K\x01" + _integer(rows.shape[0]) + _integer(rows.shape[1]) + b"\x86",
            b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
            b"\x89T" + struct.pack("<i", rows.size) + rows.tobytes() + b"tb",
        ]
    )
    labels = b"](" + b"".join(_integer(int(label)) for label in classes) + b"e"
    return (
        b"\x80\x02}("
        + _text(b"batch_label")
        + _text(b"training batch")
        + _text(b"labels")
        + labels
        + _text(b"data")
        + array
        + b"u."
    )


def _integer(number: int) -> bytes:
    return b"J" + struct.pack("<i", number)


def _text(content: bytes) -> bytes:
    return b"U" + bytes([len(content)]) + content


def python_3_batch(pictures: np.ndarray, classes: np.ndarray) -> bytes:
    """A batch that somebody saved again with today's programs."""
    return pickle.dumps({b"data": pictures.reshape(len(pictures), -1), b"labels": classes.tolist()})


def binary_batch(pictures: np.ndarray, classes: np.ndarray) -> bytes:
    """A batch of the binary version: a byte for the class, then the picture's, one record after another."""
    rows = pictures.reshape(len(pictures), -1)
    return np.concatenate([classes.astype(np.uint8)[:, None], rows], axis=1).tobytes()


Encode = Callable[[np.ndarray, np.ndarray], bytes]


def write_batches(folder: Path, train: Arrays, test: Arrays, encode: Encode, suffix: str = "") -> None:
    """Five batches for training and one for testing."""
    folder.mkdir(parents=True)
    for name, content in _batches(train, test, encode, suffix).items():
        (folder / name).write_bytes(content)


def write_archive(path: Path, train: Arrays, test: Arrays, encode: Encode, suffix: str = "") -> None:
    """The same in a tar file, below a folder as in the original, between other files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, content in {**_batches(train, test, encode, suffix), "readme.html": b"<html>"}.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def write_parquet(folder: Path, train: Arrays, test: Arrays, parts: int = 2) -> None:
    """Parquet files with the columns img{bytes, path} and label; PNG keeps every pixel."""
    folder.mkdir(parents=True)
    for split, (pictures, classes), count in (("train", train, parts), ("test", test, 1)):
        for i, chosen in enumerate(np.array_split(np.arange(len(classes)), count)):
            images = [{"bytes": _png(pictures[n]), "path": f"{n}.png"} for n in chosen]
            table = pyarrow.table({"img": images, "label": classes[chosen]})
            pyarrow.parquet.write_table(table, folder / f"{split}-{i:05d}-of-{count:05d}.parquet")


def _batches(train: Arrays, test: Arrays, encode: Encode, suffix: str) -> dict[str, bytes]:
    parts = zip(BATCHES, np.array_split(train[0], 5), np.array_split(train[1], 5), strict=True)
    content = {f"{name}{suffix}": encode(pictures, classes) for name, pictures, classes in parts}
    return {**content, f"test_batch{suffix}": encode(*test)}


def _png(picture: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture.transpose(1, 2, 0)).save(file, "PNG")
    return file.getvalue()
