"""What the ranks of an attempt printed, for a page: from the store, or from the end of the gang's log."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sweeper.paths import is_gang_log
from sweeper.store import AttemptRecord, Printed

_MOST_BYTES = 32_768


@dataclass(frozen=True)
class Tail:
    """The last lines of what went to the log at `path`; `problem` says why there are none."""

    path: str
    text: str
    cut: bool
    problem: str = ""


def printed_tail(attempt: AttemptRecord, printed: Printed | None) -> Tail | None:
    """What is known of it: from the log before the attempt has ended, and for attempts that have nothing `printed`.

    Those of earlier versions do not. The log may be on another machine.
    """
    if printed:
        return Tail(attempt.log, printed.text, bool(printed.omitted))
    found = tail(attempt.log) if attempt.log else None
    return None if found and found.problem and attempt.ended_at else found


def tail(path: str) -> Tail:
    """At most 32 KiB of the end, from the beginning of a line on; of gangs' logs only, on this machine."""
    if not is_gang_log(Path(path)):
        return Tail(path, "", False, "is no log of a gang")
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Tail(path, "", False, "is no file")
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MOST_BYTES))
            content = file.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        return Tail(path, "", False, getattr(error, "strerror", None) or "cannot be read here")
    cut = size > len(content)
    if cut:
        content = content.partition(b"\n")[2] or content
    return Tail(path, content.decode(errors="replace"), cut)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
