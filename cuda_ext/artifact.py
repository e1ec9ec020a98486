"""The compiled operators as files: the library, and a note beside it of what it was built from. Imports no torch."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "csrc"
LIBRARY = "_operators.so"
NOTE = "_operators.json"
REMEDY = "run `python -m cuda_ext.build`"


@dataclass(frozen=True)
class Built:
    """What a library was built from: torch's version, a digest of the sources, and whether with CUDA kernels.

    `bytes` is the library's length, 0 where it is not known yet.
    """

    torch: str
    sources: str
    cuda: bool
    bytes: int = 0

    def write(self, folder: Path) -> None:
        """Beside the library in `folder`, with its length; at once or not at all."""
        unfinished = folder / f"{NOTE}.{os.getpid()}"
        complete = replace(self, bytes=(folder / LIBRARY).stat().st_size)
        unfinished.write_text(json.dumps(asdict(complete)) + "\n")
        os.replace(unfinished, folder / NOTE)


def read_note(folder: Path = HERE) -> Built | None:
    """The note in `folder`; None where there is none that can be read."""
    try:
        return Built(**json.loads((folder / NOTE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def source_files(cuda: bool) -> list[Path]:
    """What is compiled, with the CUDA sources or without."""
    files = sorted(SOURCES.glob("*.cpp"))
    return files + sorted([*(SOURCES / "cuda").glob("*.cpp"), *(SOURCES / "cuda").glob("*.cu")]) if cuda else files


def source_digest(cuda: bool) -> str:
    """Of all sources of such a library, headers too."""
    digest = hashlib.sha256()
    for file in sorted(path for path in (SOURCES.rglob("*") if cuda else SOURCES.glob("*")) if path.is_file()):
        digest.update(file.relative_to(SOURCES).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def problem(folder: Path = HERE) -> str | None:
    """Why the library in `folder` is not the one to load here; None where it is."""
    note = read_note(folder)
    if note is None or not (folder / LIBRARY).exists():
        return "the compiled operators are missing"
    if (folder / LIBRARY).stat().st_size != note.bytes:
        return "the compiled operators are damaged"
    try:
        installed = version("torch")
    except PackageNotFoundError:
        return "the compiled operators need torch, and it is not installed"
    if note.torch != installed:
        return f"the compiled operators are for torch {note.torch}, and torch is {installed}"
    if note.sources != source_digest(note.cuda):
        return "the compiled operators are older than their sources"
    return None
