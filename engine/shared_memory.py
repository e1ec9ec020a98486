"""Segments of shared memory that an MPI leaves behind when its ranks do not come to finalize."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# What MPICH and Open MPI call theirs; the names are random, so that no two jobs share one.
_SEGMENT = re.compile(r"(/dev/shm/(?:mpich_|vader_segment|sm_segment)[^\s]+)(?: \(deleted\))?$")


def mapped_segments(pids: Iterable[int]) -> set[Path]:
    """The MPI segments that processes of this host have mapped; of those that are gone, none."""
    found: set[Path] = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        found.update(Path(match[1]) for line in lines if (match := _SEGMENT.search(line)))
    return found


def remove_segments(segments: Iterable[Path]) -> None:
    """Remove segments by name; what has them mapped keeps them until it ends."""
    for segment in segments:
        segment.unlink(missing_ok=True)
