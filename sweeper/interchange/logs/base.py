"""What a reader of loss logs is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Line:
    """A line of a file, neither blank nor a comment; `number` counts all lines from 1.

    `ended` is false for a last line without a line end: it may have been cut off.
    """

    number: int
    text: str
    ended: bool = True


@dataclass(frozen=True)
class Ignored:
    """A line that became no point, and why; `lost` where it seems to have been one."""

    line: Line
    reason: str
    lost: bool = False


@dataclass(frozen=True)
class Keys:
    """The names under which a log keeps what a curve needs; None leaves the choice to the reader."""

    loss: str | None = None
    seconds: str | None = None
    step: str | None = None
    images: str | None = None

    @property
    def given(self) -> bool:
        """Whether any of them was chosen."""
        return any(name is not None for name in (self.loss, self.seconds, self.step, self.images))


@dataclass(frozen=True)
class LogOptions:
    """What the user says of logs; None leaves it to what the file shows.

    `decimal` is the decimal mark, `time_unit` one of `UNITS` (`sweeper.interchange.logs.times`), `time_is` one of
    `TIME_IS`, `sessions` one of `SESSIONS`; with `without_seconds` times are not read at all.
    """

    keys: Keys = field(default_factory=Keys)
    decimal: str | None = None
    time_unit: str | None = None
    time_is: str | None = None
    sessions: str | None = None
    without_seconds: bool = False


TIME_IS = ("total", "per-step", "per-row")
SESSIONS = ("join", "split")


@dataclass(frozen=True)
class Entry:
    """What one line says by name, or why it says nothing; `part` counts the headers above it.

    `cut` is the name of the value that stands at the very end of a line without a line end.
    """

    line: Line
    values: Mapping[str, object] | None
    reason: str = ""
    lost: bool = False
    part: int = 0
    cut: str | None = None


@dataclass(frozen=True)
class Table:
    """All that a reader found: every line it was given has an entry, but for a header.

    `names` are the columns or keys of the file in the order of their appearance, empty where it has none.
    """

    entries: tuple[Entry, ...]
    names: tuple[str, ...] = ()


class LogReader(Protocol):
    """One layout of loss logs.

    `read` is called with the head of a file, to see whether the layout fits it, and then with the whole of the file
    by the reader that got the most rows of the head. It is pure, keeps nothing between calls, and raises nothing
    whatever the lines hold: a line that it cannot use is an entry without values, whose reason follows the words
    "line 7: ". It keeps the order of the file and leaves values as they are written. No lines give an empty table.
    """

    name: str
    """What `--format` calls the layout."""

    layout: str
    """What a line looks like, for messages."""

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:
        """What the lines say."""
        ...
