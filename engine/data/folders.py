"""Where data is looked for and kept: the one owner of these paths."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

VARIABLE = "SWEEPER_DATA"
DEBIAN = Path("/usr/share/datasets")


def cache_folder() -> Path:
    """The user's own cache, created by whoever writes into it."""
    return Path(platformdirs.user_cache_dir("sweeper"))


def downloads() -> Path:
    """Where fetched files are kept, one folder a data set."""
    return cache_folder() / "data"


def roots() -> list[Path]:
    """Folders that may hold data sets, in the order of preference."""
    own = os.environ.get(VARIABLE)
    return [*([Path(own)] if own else []), DEBIAN, downloads()]
