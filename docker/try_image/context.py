"""The files that a build may copy: those of the project's folder that `.dockerignore` leaves."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath


class Context:
    """A folder as a build sees it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        file = root / ".dockerignore"
        lines = file.read_text().splitlines() if file.exists() else []
        self._rules = [_rule(line.strip()) for line in lines if line.strip() and not line.startswith("#")]

    def has(self, path: PurePosixPath) -> bool:
        """Whether a path relative to the folder is left; the last rule that fits it, or a folder above it, decides."""
        places = [str(path), *(str(parent) for parent in path.parents if str(parent) != ".")]
        left = True
        for keep, pattern in self._rules:
            if any(pattern.fullmatch(place) for place in places):
                left = keep
        return left

    def files(self, source: str) -> list[PurePosixPath]:
        """The files at or below a path that are left, relative to the folder."""
        top = self.root / source
        paths = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())
        relative = [PurePosixPath(path.relative_to(self.root)) for path in paths]
        return [path for path in relative if self.has(path)]


def _rule(line: str) -> tuple[bool, re.Pattern[str]]:
    keep = line.startswith("!")
    text = re.escape(line.removeprefix("!").strip("/"))
    text = text.replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return keep, re.compile(text)
