"""Checkpoints as files of a host: what is there, and what travels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper.gangs.ray import checkpoint_files
from sweeper.gangs.ray.checkpoint_files import Checkpoint, checkpoint_in, put_checkpoint, read_files


def note(step: int) -> str:
    return json.dumps({"step": step, "digest": "same", "seconds": 1.5, "reports": [], "phases": {}})


FILES = {"rank-0.pt": b"zero", "rank-1.pt": b"one"}


def test_what_was_put_is_there_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down"
    for step in (10, 20):
        put_checkpoint(folder, Checkpoint(step, note(step), tuple(FILES)), FILES)
    found = checkpoint_in(folder)
    assert (found.step, found.note, sorted(found.files)) == (20, note(20), sorted(FILES))
    assert (found.lacks(2), found.lacks(3)) == ([], ["rank-2.pt"])
    assert sorted(path.name for path in folder.iterdir()) == ["latest.json", "step-20"]
    assert read_files(str(folder), 20, ["rank-1.pt", "rank-5.pt"]) == {"rank-1.pt": b"one"}
    assert read_files(str(folder), 10, list(FILES)) == {}


def test_newer_steps_stay(tmp_path: Path) -> None:
    (tmp_path / "step-30").mkdir(parents=True)
    (tmp_path / "step-30" / ".rank-0.pt-1").write_bytes(b"half of it")
    put_checkpoint(tmp_path, Checkpoint(10, note(10)), FILES)
    put_checkpoint(tmp_path, Checkpoint(20, note(20)), FILES)
    assert sorted(path.name for path in tmp_path.glob("step-*")) == ["step-20", "step-30"]


@pytest.mark.parametrize("name", ["../x", "/tmp/rank-0.pt", "rank-0.pt/", "a/rank-0.pt", "rank-.pt", "rank-0.pt\n", ""])
def test_a_file_that_is_no_ranks_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"expected a name like rank-0\.pt"):
        put_checkpoint(tmp_path / "a", Checkpoint(1, note(1)), {"rank-0.pt": b"", name: b"forged"})
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"step": null}', '{"step": "x"}', "\ud800"])
def test_a_note_that_cannot_be_read_is_no_checkpoint(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "latest.json").write_bytes(text.encode(errors="surrogatepass"))
    assert checkpoint_in(tmp_path) == Checkpoint()


def test_what_is_too_large_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_checkpoint(tmp_path, Checkpoint(1, note(1)), FILES)
    monkeypatch.setattr(checkpoint_files, "MOST_BYTES", 6)
    assert read_files(str(tmp_path), 1, list(FILES)) is None
    assert read_files(str(tmp_path), 1, ["rank-0.pt"]) == {"rank-0.pt": b"zero"}
