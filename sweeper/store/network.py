"""Whether a file lies on another machine's disk, where SQLite's locks may not hold."""

from __future__ import annotations

import logging
from pathlib import Path

import psutil

logger = logging.getLogger(__name__)

_NETWORK = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fuse.sshfs", "afs", "9p", "pvfs")


def file_system_of(path: Path) -> str:
    """The type of the file system that `path` lies on, as Linux names it; "" where that cannot be found out."""
    try:
        partitions = psutil.disk_partitions(all=True)
    except OSError:
        return ""
    # Of two mounts at one place the later counts.
    kinds = {partition.mountpoint: partition.fstype for partition in partitions}
    absolute = path.resolve()
    return next((kinds[str(place)] for place in (absolute, *absolute.parents) if str(place) in kinds), "")


def warn_of_network(path: Path) -> None:
    """Say so where `path` is on a network file system."""
    kind = file_system_of(path)
    if kind.startswith(_NETWORK):
        logger.warning(
            "store %s lies on a network file system (%s), where SQLite can lose what several processes write: "
            "put it on a local disk, or use PostgreSQL",
            path,
            kind,
        )
