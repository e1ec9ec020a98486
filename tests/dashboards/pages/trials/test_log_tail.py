"""The end of a log: of gangs' logs only, whatever a store that came from elsewhere names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dashboards.pages.trials.log_tail import tail
from sweeper.paths import gang_log


def test_the_end_begins_with_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_LOGS", str(tmp_path))
    path = gang_log("0123abcd-456789ab", 1)
    path.parent.mkdir()
    path.write_bytes(b"first\n" + b"line \xff\n" * 10_000)
    found = tail(str(path))
    assert found.cut
    assert set(found.text.splitlines()) == {"line \ufffd"}
    path.write_text("all\n")
    assert (tail(str(path)).text, tail(str(path)).cut) == ("all\n", False)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "secret", "0123abcd/other-456-1.log", "0123abcd/0123abcd-4-1.log/../../x"]
)
def test_other_files_are_not_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    found = tail(str(path))
    assert (found.text, found.problem) == ("", "is no log of a gang")


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "0123abcd"
    folder.mkdir()
    assert tail(str(folder / "0123abcd-4-1.log")).problem == "No such file or directory"
    os.mkfifo(folder / "0123abcd-4-2.log")
    assert tail(str(folder / "0123abcd-4-2.log")).problem == "is no file"
