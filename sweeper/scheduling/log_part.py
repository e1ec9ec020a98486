"""What the ranks of an attempt printed: the part of their gang's log that is this attempt's."""

from __future__ import annotations

import os
from contextlib import suppress

from sweeper.store import Printed

_MOST_BYTES = 65_536


def read_printed(log: str, begin: int, end: int | None = None) -> Printed | None:
    """A log from `begin` to `end`, in bytes, or to where it ends; None if nothing is there.

    Of more than 64 KiB only the end, from the beginning of a line on.
    """
    with suppress(OSError), open(log, "rb") as file:
        end = os.fstat(file.fileno()).st_size if end is None else end
        first = max(begin, end - _MOST_BYTES)
        file.seek(first)
        content = file.read(max(0, end - first))
        if first > begin:
            content = content.partition(b"\n")[2] or content
        if content:
            return Printed(content.decode(errors="replace"), end - begin - len(content))
    return None
