"""The compiled operators as files: the library, and a note beside it of what it was built from. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "csrc"
LIBRARY = "_operators.so"
NOTE = "_operators.json"


@dataclass(frozen=True)
class Built:
    """What a library was built from: torch's version, a digest of the sources, and whether with CUDA kernels."""

    torch: str
    sources: str
    cuda: bool

    def write(self, folder: Path) -> None:
        """Beside the library in `folder`, at once or not at all."""
        unfinished = folder / f"{NOTE}.{os.getpid()}"
        unfinished.write_text(json.dumps(asdict(self)) + "\n")
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


def source_digest() -> str:
    """Of all sources, headers too."""
    digest = hashlib.sha256()
    for file in sorted(path for path in SOURCES.rglob("*") if path.is_file()):
        digest.update(file.relative_to(SOURCES).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
