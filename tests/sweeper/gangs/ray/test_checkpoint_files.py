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
