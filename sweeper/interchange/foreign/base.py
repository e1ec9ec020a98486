"""What a reader of other programs' runs is given and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.logs.base import Keys


@dataclass(frozen=True)
class ForeignOptions:
    """What the user says of the runs: keys of loss and seconds, parameters of all, which of several experiments, and
    where seconds begin (an `TimeOrigin`, None to have it guessed).
    """

    keys: Keys = field(default_factory=Keys)
    assignments: tuple[str, ...] = ()
    pattern: str | None = None
    experiments: tuple[str, ...] = ()
    origin: str | None = None


class RunsReader(Protocol):
    """One kind of store of runs.

    `recognizes` is given any path, and raises nothing. `read` gives a sweep for each experiment, with ids of its own,
    and its trials before the next sweep; each run that has a loss curve is a trial. Runs without one, and all else
    that has no place in a trial, are told of in `IncomingSweep.notes`.

    Raises:
        LogFormatError: no run has a loss curve.
        SpecError: parameters that no trial can have.
        MissingPackageError: what is needed to read it is not installed.
    """

    name: str
    """What `--format` calls it."""

    def recognizes(self, path: Path) -> bool:
        """Whether the path is such a store."""
        ...

    def read(self, path: Path, options: ForeignOptions) -> Iterator[IncomingSweep]:
        """The sweeps in a store."""
        ...
