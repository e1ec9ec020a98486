"""What was decoded once is kept, for these very files, where that is possible."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.data.base import Arrays
from engine.data.decoded import decoded
from tests.engine.data.conftest import DataFolders

PICTURES, CLASSES = np.arange(24, dtype=np.uint8).reshape(2, 3, 2, 2), np.array([1, 0], np.int64)


class Decoder:
    """Gives the same arrays each time, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Arrays:
        self.calls += 1
        return PICTURES, CLASSES


@pytest.fixture
def decode() -> Decoder:
    return Decoder()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"as it comes")
    return path


def assert_same(found: Arrays) -> None:
    assert np.array_equal(found[0], PICTURES)
    assert np.array_equal(found[1], CLASSES)
    assert [array.dtype for array in found] == [PICTURES.dtype, CLASSES.dtype]


@pytest.mark.usefixtures("empty_folders")
def test_the_same_file_is_decoded_once(source: Path, decode: Decoder) -> None:
    for _ in range(3):
        assert_same(decoded("set", [source], decode))
    assert decode.calls == 1


@pytest.mark.usefixtures("empty_folders")
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"something else"),
        lambda path: os.utime(path, ns=(1, 1)),
    ],
)
def test_another_file_is_decoded_anew(source: Path, decode: Decoder, change: Callable[[Path], object]) -> None:
    decoded("set", [source], decode)
    change(source)
    assert_same(decoded("set", [source], decode))
    assert decode.calls == 2


@pytest.mark.usefixtures("empty_folders")
def test_threads_that_start_together_decode_once(source: Path, decode: Decoder) -> None:
    threads = [threading.Thread(target=decoded, args=("set", [source], decode)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decode.calls == 1


def test_without_a_cache_it_is_decoded_each_time(
    empty_folders: DataFolders, source: Path, decode: Decoder, caplog: pytest.LogCaptureFixture
) -> None:
    empty_folders.cache.write_text("a file where the cache's folder should be")
    for _ in range(2):
        assert_same(decoded("set", [source], decode))
    assert decode.calls == 2
    assert "cannot keep decoded set (" in caplog.text


def test_half_of_it_is_not_taken_for_all(empty_folders: DataFolders, source: Path, decode: Decoder) -> None:
    decoded("set", [source], decode)
    (half,) = empty_folders.cache.rglob("targets.npy")
    half.unlink()
    assert_same(decoded("set", [source], decode))
    assert decode.calls == 2


def test_a_failing_decoder_keeps_nothing_and_is_heard(empty_folders: DataFolders, source: Path) -> None:
    def fail() -> Arrays:
        raise OSError("damaged")

    with pytest.raises(OSError, match="damaged"):
        decoded("set", [source], fail)
    assert list(empty_folders.cache.rglob("*.npy")) == []
