"""Fashion-MNIST from its IDX files: found, fetched, taken from Debian's package, damaged."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.data import fashion_mnist
from engine.errors import DataError
from tests.engine.data.conftest import DataFolders, Site

PARTS = {"train": "train", "test": "t10k"}


def idx(array: np.ndarray) -> bytes:
    """The IDX format: a magic number, the sizes, the bytes."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def random_split(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, 28, 28)), random.integers(0, 10, count)


def write(folder: Path, seed: int = 0, moment: int = 0) -> dict[str, str]:
    """The four files with a few random pictures; the SHA-256 of their content. `moment` goes into gzip's headers."""
    folder.mkdir(parents=True, exist_ok=True)
    checksums = {}
    for split, count in (("train", 23), ("test", 7)):
        pictures, classes = random_split(count, seed + count)
        for part, content in (("images-idx3", idx(pictures)), ("labels-idx1", idx(classes))):
            name = f"{PARTS[split]}-{part}-ubyte.gz"
            (folder / name).write_bytes(gzip.compress(content, mtime=moment))
            checksums[name] = hashlib.sha256(content).hexdigest()
    return checksums


def assert_holds(seed: int = 0) -> None:
    for split, count in (("train", 23), ("test", 7)):
        pictures, classes = random_split(count, seed + count)
        found = fashion_mnist.load(split)
        assert [str(array.dtype) for array in (found.inputs, found.targets)] == ["uint8", "int64"]
        assert np.array_equal(found.inputs, pictures[:, None])
        assert np.array_equal(found.targets, classes)
        assert (found.classes, found.sample_shape) == (10, (1, 28, 28))


def test_the_files_give_their_pictures(empty_folders: DataFolders) -> None:
    write(empty_folders.own / "fashion-mnist")
    assert_holds()


def test_places_are_looked_at_in_their_order(empty_folders: DataFolders) -> None:
    for seed, place in enumerate((empty_folders.downloads, empty_folders.debian, empty_folders.own)):
        write(place / "fashion-mnist", seed)
        assert_holds(seed)


def test_files_may_lie_in_the_named_folder_itself(empty_folders: DataFolders) -> None:
    write(empty_folders.own)
    assert_holds()


def test_an_incomplete_folder_is_passed_over(empty_folders: DataFolders) -> None:
    write(empty_folders.debian / "fashion-mnist", seed=1)
    write(empty_folders.own / "fashion-mnist", seed=0)
    (empty_folders.own / "fashion-mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    assert_holds(seed=1)


@pytest.fixture
def on_the_web(empty_folders: DataFolders, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_mnist, "SITE", site.url)
    monkeypatch.setattr(fashion_mnist, "CHECKSUMS", write(site.folder))
    assert not empty_folders.downloads.exists()


@pytest.mark.usefixtures("on_the_web")
def test_what_is_nowhere_is_fetched_once(site: Site) -> None:
    assert_holds()
    assert_holds()
    assert sorted(site.requests) == sorted(f"/{name}" for name in fashion_mnist.CHECKSUMS)


@pytest.mark.usefixtures("on_the_web")
def test_only_what_is_missing_is_fetched(empty_folders: DataFolders, site: Site) -> None:
    write(empty_folders.downloads / "fashion-mnist")
    (empty_folders.downloads / "fashion-mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    assert_holds()
    assert site.requests == ["/t10k-labels-idx1-ubyte.gz"]


@pytest.mark.usefixtures("on_the_web")
def test_other_headers_of_the_same_content_do(site: Site) -> None:
    write(site.folder, moment=12345)
    assert_holds()


@pytest.mark.usefixtures("on_the_web")
def test_a_wrong_checksum_keeps_nothing(empty_folders: DataFolders, site: Site) -> None:
    write(site.folder, seed=1)
    with pytest.raises(DataError, match=r"checksum \w{12}… instead of \w{12}…"):
        fashion_mnist.load("train")
    assert list((empty_folders.downloads / "fashion-mnist").glob("*.gz")) == []


def test_debians_package_is_the_second_way(
    empty_folders: DataFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real package, and an `apt-get download` that brings it."""
    dpkg_deb = shutil.which("dpkg-deb", path="/usr/bin:/bin")
    if dpkg_deb is None:
        pytest.skip("no dpkg-deb on this machine")
    package = tmp_path / "package"
    checksums = write(package / str(empty_folders.debian / "fashion-mnist").lstrip("/"))
    (package / "DEBIAN").mkdir()
    fields = {"Package": "dataset-fashion-mnist", "Version": "1", "Architecture": "all", "Maintainer": "me <a@b.c>"}
    control = "".join(f"{name}: {value}\n" for name, value in fields.items()) + "Description: pictures\n"
    (package / "DEBIAN" / "control").write_text(control)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    subprocess.run([dpkg_deb, "--build", package, tmp_path / "dataset.deb"], check=True, capture_output=True)
    (tmp_path / "bin").mkdir()
    apt_get = tmp_path / "bin" / "apt-get"
    apt_get.write_text(f'#!/bin/sh\n[ "$*" = "download dataset-fashion-mnist" ] && cp {tmp_path}/dataset.deb .\n')
    apt_get.chmod(0o755)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", empty_folders.debian)
    monkeypatch.setattr(fashion_mnist, "SITE", "http://127.0.0.1:1")
    monkeypatch.setattr(fashion_mnist, "CHECKSUMS", checksums)
    assert not (empty_folders.debian).exists()
    assert_holds()


def test_what_is_nowhere_and_not_to_be_had_comes_with_the_ways(
    empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fashion_mnist, "SITE", "http://127.0.0.1:1")
    with pytest.raises(DataError) as caught:
        fashion_mnist.load("train")
    for place in (empty_folders.own, empty_folders.debian, empty_folders.downloads):
        assert str(place / "fashion-mnist") in caught.value.message
    assert "http://127.0.0.1:1/train-images-idx3-ubyte.gz: " in caught.value.message
    assert "apt-get is not on this machine" in caught.value.message
    for way in ("four IDX files", "SWEEPER_DATA", "apt-get install dataset-fashion-mnist", "internet"):
        assert way in caught.value.remedy


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(255 - byte for byte in content[middle : middle + 100]) + content[middle + 100 :]


@pytest.mark.parametrize("part", ["images-idx3", "labels-idx1"])
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda content: content[:-12], id="cut"),
        pytest.param(lambda _: b"no gzip at all", id="other"),
        pytest.param(lambda _: gzip.compress(b""), id="nothing inside"),
        pytest.param(lambda _: gzip.compress(b"\0\0\x08"), id="half a magic number"),
        pytest.param(lambda _: gzip.compress(b"\0\0\x0d\1\0\0\0\1\0"), id="floats"),
        pytest.param(lambda _: gzip.compress(idx(np.zeros((23, 28)))), id="other dimensions"),
        pytest.param(lambda _: gzip.compress(idx(np.zeros((22, 28, 28)))), id="fewer pictures"),
        pytest.param(lambda _: gzip.compress(idx(np.full(23, 10))), id="an eleventh class"),
        pytest.param(lambda content: gzip.compress(gzip.decompress(content)[:-1]), id="one byte less"),
        pytest.param(flipped, id="flipped"),
    ],
)
def test_damaged_files_are_named(empty_folders: DataFolders, part: str, how: Callable[[bytes], bytes]) -> None:
    write(empty_folders.own / "fashion-mnist")
    path = empty_folders.own / "fashion-mnist" / f"train-{part}-ubyte.gz"
    path.write_bytes(how(path.read_bytes()))
    with pytest.raises(DataError) as caught:
        fashion_mnist.load("train")
    assert str(empty_folders.own) in caught.value.message
    assert "damaged (" in caught.value.message
    assert caught.value.remedy == "replace it, or remove it to have it fetched"


def test_the_real_pictures_are_normalised_by_their_own_mean(
    recorded_data: Callable[[str], Path], empty_folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_DATA", str(recorded_data("fashion-mnist").parent))
    assert not empty_folders.cache.exists()
    found = fashion_mnist.load("test")
    assert np.bincount(found.targets).tolist() == [1000] * 10
    assert found.inputs.mean() / 255 == pytest.approx(found.mean[0], abs=0.002)
    assert found.inputs.std() / 255 == pytest.approx(found.std[0], abs=0.002)
