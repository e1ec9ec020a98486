"""CIFAR-10 in every layout, from every place, damaged and not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.data import cifar10
from engine.data.base import Arrays
from engine.errors import DataError
from tests.engine.data import cifar10_files as files
from tests.engine.data.conftest import DataFolders, Site

TRAIN, TEST = files.random_split(23, seed=1), files.random_split(7, seed=2)
LAYOUTS: dict[str, Callable[[Path, Arrays, Arrays], None]] = {
    "parquet": files.write_parquet,
    "parquet in data": lambda folder, train, test: files.write_parquet(folder / "data", train, test),
    "parquet in plain_text": lambda folder, train, test: files.write_parquet(
        folder / "plain_text", train, test, parts=1
    ),
    "python folder": lambda folder, train, test: files.write_batches(
        folder / "cifar-10-batches-py", train, test, files.python_2_batch
    ),
    "python folder of today": lambda folder, train, test: files.write_batches(
        folder / "cifar-10-batches-py", train, test, files.python_3_batch
    ),
    "binary folder": lambda folder, train, test: files.write_batches(
        folder / "cifar-10-batches-bin", train, test, files.binary_batch, ".bin"
    ),
    **{
        f"python{ending}": partial(
            lambda folder, train, test, ending: files.write_archive(
                folder / f"cifar-10-python{ending}", train, test, files.python_2_batch
            ),
            ending=ending,
        )
        for ending in (".tar.gz", ".tar")
    },
    **{
        f"binary{ending}": partial(
            lambda folder, train, test, ending: files.write_archive(
                folder / f"cifar-10-binary{ending}", train, test, files.binary_batch, ".bin"
            ),
            ending=ending,
        )
        for ending in (".tar.gz", ".tar")
    },
}


def assert_holds(expected: Arrays, split: str) -> None:
    found = cifar10.load(split)
    assert [str(array.dtype) for array in (found.inputs, found.targets)] == ["uint8", "int64"]
    assert np.array_equal(found.inputs, expected[0])
    assert np.array_equal(found.targets, expected[1])
    assert (found.classes, found.sample_shape, len(found)) == (10, (3, 32, 32), len(expected[1]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_arrays(empty_folders: DataFolders, layout: str) -> None:
    LAYOUTS[layout](empty_folders.own / "cifar10", TRAIN, TEST)
    assert_holds(TRAIN, "train")
    assert_holds(TEST, "test")


def test_files_may_lie_in_the_named_folder_itself(empty_folders: DataFolders) -> None:
    LAYOUTS["binary folder"](empty_folders.own, TRAIN, TEST)
    assert_holds(TRAIN, "train")


def test_places_are_looked_at_in_their_order(empty_folders: DataFolders) -> None:
    for number, place in enumerate((empty_folders.downloads, empty_folders.debian, empty_folders.own)):
        split = files.random_split(5, seed=100 + number)
        LAYOUTS["binary folder"](place / "cifar10", split, split)
        assert_holds(split, "train")


def test_an_incomplete_folder_is_passed_over(empty_folders: DataFolders) -> None:
    LAYOUTS["python folder"](empty_folders.own / "cifar10", TEST, TEST)
    LAYOUTS["binary.tar.gz"](empty_folders.own / "cifar10", TRAIN, TEST)
    assert_holds(TEST, "train")
    (empty_folders.own / "cifar10" / "cifar-10-batches-py" / "data_batch_3").unlink()
    assert_holds(TRAIN, "train")


def test_the_second_time_nothing_is_decoded(empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    LAYOUTS["binary folder"](empty_folders.own / "cifar10", TRAIN, TEST)
    cifar10.load("train")
    monkeypatch.setattr(cifar10, "_decode_binary", lambda _: pytest.fail("decoded again"))
    assert_holds(TRAIN, "train")
    assert isinstance(cifar10.load("train").inputs, np.memmap), "one copy for all ranks"


class _Evil:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return os.mkdir, (self._folder,)


def test_a_pickle_that_would_do_something_is_refused(empty_folders: DataFolders, tmp_path: Path) -> None:
    made = tmp_path / "made"
    evil = pickle.dumps({b"data": _Evil(made), b"labels": [1]})
    files.write_batches(empty_folders.own / "cifar-10-batches-py", TRAIN, TEST, lambda *_: evil)
    with pytest.raises(DataError, match=r"asks for \w+\.\w+, which no CIFAR-10 batch needs"):
        cifar10.load("train")
    assert not made.exists()
    pickle.loads(evil)
    assert made.exists(), "it does something where nobody refuses it"


def damage(folder: Path, how: Callable[[bytes], bytes]) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            path.write_bytes(how(path.read_bytes()))


def assert_refused(folder: Path) -> None:
    with pytest.raises(DataError) as caught:
        cifar10.load("train")
    assert str(folder) in caught.value.message
    assert "is damaged (" in caught.value.message
    assert caught.value.remedy == "replace it, or remove it to have it fetched"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda content: content[: len(content) // 3], id="cut"),
        pytest.param(lambda content: np.random.default_rng(0).bytes(len(content)), id="noise"),
    ],
)
def test_damaged_files_are_named(empty_folders: DataFolders, layout: str, how: Callable[[bytes], bytes]) -> None:
    LAYOUTS[layout](empty_folders.own / "cifar10", TRAIN, TEST)
    damage(empty_folders.own, how)
    assert_refused(empty_folders.own)


@pytest.mark.parametrize("layout", ["python.tar.gz", "binary.tar.gz"])
@pytest.mark.parametrize("part", [1, 2, 3])
def test_compressed_archives_show_damage_anywhere(empty_folders: DataFolders, layout: str, part: int) -> None:
    LAYOUTS[layout](empty_folders.own / "cifar10", TRAIN, TEST)

    def invert(content: bytes) -> bytes:
        start = len(content) * part // 4
        return content[:start] + bytes(255 - byte for byte in content[start : start + 600]) + content[start + 600 :]

    damage(empty_folders.own, invert)
    assert_refused(empty_folders.own)


@pytest.mark.parametrize("position", range(2, 200, 7))
def test_a_pickle_with_a_wrong_byte_is_read_or_refused(empty_folders: DataFolders, position: int) -> None:
    """Its unpickling raises exceptions of all kinds."""
    LAYOUTS["python folder"](empty_folders.own / "cifar10", TRAIN, TEST)
    damage(empty_folders.own, lambda content: content[:position] + b"\xfe" + content[position + 1 :])
    with contextlib.suppress(DataError):
        assert len(cifar10.load("train")) == len(TRAIN[1])


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (
            {b"data": TEST[0].reshape(7, -1), b"labels": [0] * 6},
            r"\[7, 3, 32, 32\] pictures of \[6\] classes instead of \[6, 3, 32, 32\] of \[6\]",
        ),
        ({b"data": TEST[0].reshape(7, -1), b"labels": [10] * 7}, "classes from 10 to 10 instead of 0 to 9"),
        ({b"data": TEST[0].reshape(7, -1)}, "labels"),
        ({b"data": TEST[0].reshape(-1)[:-1], b"labels": [0] * 7}, "cannot reshape"),
        ({b"data": np.zeros((0, 3072), np.uint8), b"labels": []}, r"of \[0\] classes"),
        ([1, 2], "is damaged"),
    ],
)
def test_files_that_hold_something_else_are_refused(empty_folders: DataFolders, batch: object, problem: str) -> None:
    files.write_batches(empty_folders.own / "cifar-10-batches-py", TRAIN, TEST, lambda *_: pickle.dumps(batch))
    with pytest.raises(DataError, match=problem):
        cifar10.load("test")


@pytest.fixture
def archive_on_the_web(empty_folders: DataFolders, site: Site, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Address and checksum of an archive, in the place of the original's."""
    path = site.folder / "cifar-10-python.tar.gz"
    files.write_archive(path, TRAIN, TEST, files.python_2_batch)
    at = f"{site.url}/{path.name}", hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(cifar10, "URL", at[0])
    monkeypatch.setattr(cifar10, "CHECKSUM", at[1])
    assert not empty_folders.downloads.exists()
    return at


@pytest.mark.usefixtures("archive_on_the_web")
def test_what_is_nowhere_is_fetched_once(site: Site) -> None:
    assert_holds(TRAIN, "train")
    assert_holds(TEST, "test")
    assert site.requests == ["/cifar-10-python.tar.gz"]


def test_processes_that_start_together_fetch_once(archive_on_the_web: tuple[str, str], site: Site) -> None:
    program = (
        "import sys; from engine.data import cifar10; cifar10.URL, cifar10.CHECKSUM = sys.argv[1:]; "
        "print(cifar10.load('train').inputs.sum())"
    )
    command = [sys.executable, "-c", program, *archive_on_the_web]
    together = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=60)[0] for process in together] == [f"{TRAIN[0].sum()}\n"] * 3
    assert site.requests == ["/cifar-10-python.tar.gz"]


@pytest.mark.usefixtures("archive_on_the_web")
def test_a_wrong_checksum_keeps_nothing(empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "CHECKSUM", "0" * 64)
    with pytest.raises(DataError, match=r"checksum .* instead of 000000000000…"):
        cifar10.load("train")
    assert [path.name for path in (empty_folders.downloads / "cifar10").iterdir()] in ([], [".lock"])


def test_what_is_nowhere_and_not_to_be_had_comes_with_the_ways(
    empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cifar10, "URL", "http://127.0.0.1:1/cifar-10-python.tar.gz")
    with pytest.raises(DataError) as caught:
        cifar10.load("train")
    for place in (empty_folders.own, empty_folders.debian, empty_folders.downloads):
        assert str(place / "cifar10") in caught.value.message
    assert "http://127.0.0.1:1/cifar-10-python.tar.gz" in caught.value.message
    for way in ("parquet", "cifar-10-batches-py", "cifar-10-batches-bin", "tar file", "SWEEPER_DATA", "internet"):
        assert way in caught.value.remedy


def test_a_cache_that_cannot_be_made_is_one_of_the_reasons(
    empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_folders.cache.write_text("a file where the cache's folder should be")
    with pytest.raises(DataError, match="cannot be written"):
        cifar10.load("train")
    LAYOUTS["binary folder"](empty_folders.own, TRAIN, TEST)
    assert_holds(TRAIN, "train")
    monkeypatch.delenv("SWEEPER_DATA")


def test_the_real_pictures_are_normalised_by_their_own_mean(
    recorded_data: Callable[[str], Path], empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded_data("cifar10/test-00000-of-00001.parquet").parent
    monkeypatch.setenv("SWEEPER_DATA", str(folder.parent))
    assert not empty_folders.cache.exists()
    found = cifar10.load("test")
    assert np.bincount(found.targets).tolist() == [1000] * 10
    assert found.inputs.mean((0, 2, 3)) / 255 == pytest.approx(np.array(found.mean), abs=0.005)
    assert found.inputs.std((0, 2, 3)) / 255 == pytest.approx(np.array(found.std), abs=0.005)
