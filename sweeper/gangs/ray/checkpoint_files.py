"""Checkpoints between hosts that share no folder: as files on a host, and as they travel.

The submitter's machine keeps the newest checkpoint that all ranks of a trial have written; a gang elsewhere gets it
before it begins. A mark in the folder tells attempts that go on from each other from those before a new beginning.
`engine.checkpoint` says what the other files are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024  # of a host's ranks together; more stays where it is
BROUGHT = "brought"  # the folder within that of a trial's checkpoints, which no rank writes to
_NOTE = "latest.json"
_MARK = "begun"
_RANK_FILE = re.compile(r"rank-[0-9]+\.pt")


@dataclass(frozen=True)
class Checkpoint:
    """What a host has of a trial's latest checkpoint: its step, -1 if there is none, its note, and files by rank."""

    step: int = -1
    note: str = ""
    files: tuple[str, ...] = ()

    def lacks(self, workers: int) -> list[str]:
        """The files of so many ranks that are not there."""
        return [name for name in (f"rank-{rank}.pt" for rank in range(workers)) if name not in self.files]


def checkpoint_in(folder: str | Path) -> Checkpoint:
    """What is there of the checkpoint that the folder's note names."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        note = (Path(folder) / _NOTE).read_text()
        step = int(json.loads(note)["step"])
        return Checkpoint(step, note, files_of(folder, step))
    return Checkpoint()


def files_of(folder: str | Path, step: int) -> tuple[str, ...]:
    """The names of the ranks' files of a step."""
    return tuple(path.name for path in (Path(folder) / f"step-{step}").glob("rank-*.pt"))


def read_files(folder: str, step: int, names: Sequence[str]) -> dict[str, bytes] | None:
    """Those of these files that are there; None if they are too large to travel."""
    paths = [path for name in names if (path := Path(folder) / f"step-{step}" / name).is_file()]
    if sum(path.stat().st_size for path in paths) > MOST_BYTES:
        return None
    return {path.name: path.read_bytes() for path in paths}


def put_checkpoint(folder: str | Path, checkpoint: Checkpoint, files: dict[str, bytes]) -> None:
    """Write these files of a checkpoint. Its note, if it has one, comes last.

    Of older steps only that of the folder's note stays; newer ones stay, for a rank may be writing them.

    Raises:
        ValueError: a file does not have the name of a rank's; nothing is written.
        OSError: the folder cannot be written.
    """
    if wrong := [name for name in files if not _RANK_FILE.fullmatch(name)]:
        raise ValueError(f"checkpoint file {wrong[0]!r}: expected a name like rank-0.pt")
    place = Path(folder) / f"step-{checkpoint.step}"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _write(place / name, content)
    if checkpoint.note:
        _write(Path(folder) / _NOTE, checkpoint.note.encode())
    noted = checkpoint_in(folder).step
    for other in Path(folder).glob("step-*"):
        if _step_of(other) < checkpoint.step and _step_of(other) != noted:
            shutil.rmtree(other, ignore_errors=True)


def mark_of(folder: str | Path) -> str:
    """The mark of a folder here, which is made if it has none: a trial then begins anew. Raises OSError."""
    if not _mark_in(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        _write(Path(folder) / _MARK, uuid.uuid4().hex.encode())
    return _mark_in(folder)


def begin(folder: str | Path, mark: str) -> None:
    """Have the folder keep checkpoints under this mark only: those under another one go. Raises OSError."""
    if _mark_in(folder) == mark:
        return
    place = Path(folder)
    (place / _NOTE).unlink(missing_ok=True)
    for step in place.glob("step-*"):
        shutil.rmtree(step, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    _write(place / _MARK, mark.encode())


def remove(folder: str | Path, mark: str) -> None:
    """Remove the folder, unless it has got another mark meanwhile."""
    if _mark_in(folder) == mark:
        shutil.rmtree(folder, ignore_errors=True)


def _mark_in(folder: str | Path) -> str:
    with suppress(FileNotFoundError):
        return (Path(folder) / _MARK).read_bytes().decode(errors="replace")
    return ""


def _step_of(place: Path) -> float:
    with suppress(ValueError):
        return int(place.name.removeprefix("step-"))
    return float("inf")


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    partial.write_bytes(content)
    os.replace(partial, path)
