"""What a build leaves: a tree of files, and how it is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from docker.try_image.sandbox import PATH
from sweeper.errors import UsageError


@dataclass
class Image:
    """Files in `tree`, and what ENV, USER, WORKDIR, ENTRYPOINT, CMD, HEALTHCHECK, VOLUME and SHELL have set."""

    tree: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = ""
    folder: str = "/"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    shell: list[str] = field(default_factory=lambda: ["/bin/sh", "-c"])

    def save(self) -> None:
        """Beside the tree, for `load`."""
        _settings(self.tree).write_text(json.dumps({**asdict(self), "tree": str(self.tree)}, indent=2))

    @classmethod
    def load(cls, tree: Path) -> Image:
        """An image that was saved. Raises UsageError where there is none."""
        if not _settings(tree).exists():
            raise UsageError(f"{tree}: no image was built there", "leave out --keep-image")
        return cls(**{**json.loads(_settings(tree).read_text()), "tree": tree})


def _settings(tree: Path) -> Path:
    return tree.with_name(f"{tree.name}.json")
