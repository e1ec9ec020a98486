"""The files that a build may copy."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from docker.try_image.context import Context

ROOT = Path(__file__).parents[3]


def context(folder: Path, ignored: str, *files: str) -> Context:
    (folder / ".dockerignore").write_text(ignored)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return Context(folder)


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        ("", ["a/b.pyc", "a/b.txt", "a/c/d.txt"]),
        ("# a note\n*.pyc\n", ["a/b.pyc", "a/b.txt", "a/c/d.txt"]),
        ("**/*.pyc", ["a/b.txt", "a/c/d.txt"]),
        ("a/*.txt", ["a/b.pyc", "a/c/d.txt"]),
        ("a/c", ["a/b.pyc", "a/b.txt"]),
        ("*", []),
        ("*\n!a/c", ["a/c/d.txt"]),
        ("*\n!a\n**/c", ["a/b.pyc", "a/b.txt"]),
        ("a/?.txt", ["a/b.pyc", "a/c/d.txt"]),
    ],
)
def test_the_last_rule_that_fits_decides(ignored: str, left: list[str], tmp_path: Path) -> None:
    found = context(tmp_path, ignored, "a/b.txt", "a/b.pyc", "a/c/d.txt").files("a")
    assert [str(path) for path in found] == left


def test_a_file_can_be_named(tmp_path: Path) -> None:
    assert context(tmp_path, "", "one", "two").files("one") == [PurePosixPath("one")]
    assert context(tmp_path, "*", "one").files("one") == []


def test_nothing_that_was_built_here_is_copied() -> None:
    left = Context(ROOT)
    assert left.has(PurePosixPath("cuda_ext/load.py"))
    assert not left.has(PurePosixPath("cuda_ext/_operators.so"))
    assert not left.has(PurePosixPath("sweeper/__pycache__/api.cpython-311.pyc"))
    assert not left.has(PurePosixPath("tests/conftest.py"))
