"""Whether a file lies on another machine's disk, where SQLite's locks may not hold."""

from __future__ import annotations

import logging
import re
from pathlib import Path

logger = logging.getLogger(__name__)

_NETWORK = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fuse.sshfs", "afs", "9p", "pvfs")
_MOUNTS = Path("/proc/self/mounts")


def file_system_of(path: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the file system that `path` lies on, as Linux names it; "" where that cannot be found out."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return ""
    absolute = path.resolve()
    # Of two mounts at one place the later counts.
    kinds = {_unescaped(words[1]): words[2] for words in lines if len(words) > 2}
    for place in (absolute, *absolute.parents):
        if str(place) in kinds:
            return kinds[str(place)]
    return ""


def warn_of_network(path: Path, mounts: Path = _MOUNTS) -> None:
    """Say so where `path` is on a network file system."""
    kind = file_system_of(path, mounts)
    if kind.startswith(_NETWORK):
        logger.warning(
            "store %s lies on a network file system (%s), where SQLite can lose what several processes write: "
            "put it on a local disk, or use PostgreSQL",
            path,
            kind,
        )


def _unescaped(place: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), place)
