"""Checkpoints between hosts that share no folder: as files on a host, and as they travel.

The submitter's machine keeps the newest checkpoint that all ranks of a trial have written; a gang elsewhere gets it
before it begins. `engine.checkpoint` says what the files are.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024  # of a host's ranks together; more stays where it is
BROUGHT = "brought"  # the folder within that of a trial's checkpoints, which no rank writes to
_NOTE = "latest.json"


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
    """Have the folder hold this checkpoint and no other: the note comes last. Raises OSError."""
    place = Path(folder) / f"step-{checkpoint.step}"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _write(place / name, content)
    _write(Path(folder) / _NOTE, checkpoint.note.encode())
    for other in Path(folder).glob("step-*"):
        if other != place:
            shutil.rmtree(other, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}-{os.getpid()}")
    partial.write_bytes(content)
    os.replace(partial, path)
