"""What a format of whole sweeps can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sweeper.store.archived import Archive, ArchivedSweep, ArchivedTrial


@dataclass(frozen=True)
class IncomingSweep:
    """A sweep that is being read from a file; `trials` can be gone through once.

    `notes` tell, in a sentence each, what of the file is not in the trials as it was written; they are whole when the
    trials have been gone through.
    """

    sweep: ArchivedSweep
    trials: Iterator[ArchivedTrial]
    notes: list[str] = field(default_factory=list)


class SweepFormat(Protocol):
    """One format of files that hold sweeps with all that was recorded of them.

    `write` is given a place where nothing is, beside that of the file which the whole then becomes, and leaves a file
    or a folder there. `recognizes` is given any path, and raises nothing. `read` gives the sweeps of a file that it
    recognizes, and each one's trials before the next sweep. What was written is read the same to the last bit; both
    hold few trials' points at a time.

    Raises:
        DocumentError: a file that is not whole.
        MissingPackageError: what the format needs is not installed.
    """

    name: str
    """What `--format` calls it."""

    suffixes: tuple[str, ...]
    """Endings of file names that choose it, in lower case."""

    companion: str
    """What is added to the file's name for a second file that belongs to it; empty where there is none."""

    is_one_stream: bool
    """Whether what `write` makes, without its second file, makes sense as a stream of bytes."""

    def write(self, archive: Archive, path: Path) -> None:
        """Write a sweep, and its second file beside it."""
        ...

    def recognizes(self, path: Path) -> bool:
        """Whether this format has written the file."""
        ...

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """The sweeps in a file."""
        ...
