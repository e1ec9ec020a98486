"""The clean tree that stands for the base image, and what a build needs of this machine to install packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from docker.try_image.sandbox import Mount

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
# What the base image adds to Debian's smallest system, and `tini`, the first process of containers (`init: true`).
_PACKAGES = ("ca-certificates", "python3", "python3-venv", "tini")


def make_tree(tree: Path) -> None:
    """Debian's smallest system with its Python. It is made elsewhere first, so that half a tree is never taken."""
    if tree.exists():
        return
    made = tree.with_name(f"{tree.name}.part")
    subprocess.run(["rm", "-rf", made], check=True)
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", SUITE, str(made), MIRROR]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    made.rename(tree)


def pip_settings() -> tuple[dict[str, str], list[Mount]]:
    """This machine's settings of pip as environment variables, and the local folders that they name."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    settings, folders = {}, set()
    for line in listed.splitlines():
        name, _, written = line.partition("=")
        value = written.strip("'\"")
        settings[f"PIP_{name.rpartition('.')[2].upper().replace('-', '_')}"] = value
        folders |= {_folder(word) for word in value.split() if word.startswith(("/", "file://"))}
    return settings, [Mount(folder, str(folder)) for folder in sorted(folders) if folder.is_dir()]


def _folder(word: str) -> Path:
    """The folder that must be there for a path to be of use: an index refers to files beside it."""
    path = Path(urlsplit(word).path)
    return path.parent if word.startswith("file://") or not path.is_dir() else path
