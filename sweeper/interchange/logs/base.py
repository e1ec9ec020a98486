"""What a reader of loss logs is given and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Line:
    """A line of a file, neither blank nor a comment; `number` counts all lines from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Row:
    """What one line says; `step` and `images` as written, NaN where they are no number, None where not given."""

    line: Line
    seconds: float
    loss: float
    step: float | None = None
    images: float | None = None


@dataclass(frozen=True)
class Ignored:
    """A line that became no point, and why."""

    line: Line
    reason: str


@dataclass(frozen=True)
class Keys:
    """The names under which a log keeps its loss and its seconds; None leaves the choice to the reader."""

    loss: str | None = None
    seconds: str | None = None

    @property
    def given(self) -> bool:
        """Whether any of them was chosen."""
        return self.loss is not None or self.seconds is not None


@dataclass(frozen=True)
class Reading:
    """All that a reader found: every line it was given is in `rows` or in `ignored`, but for a header.

    `names` are the columns or keys of the file in the order of their appearance, empty where it has none.
    """

    rows: tuple[Row, ...]
    ignored: tuple[Ignored, ...]
    names: tuple[str, ...] = ()


class LogReader(Protocol):
    """One layout of loss logs.

    `read` is called with the head of a file, to see whether the layout fits it, and then with the whole of the file
    by the reader that got the most rows of the head. It is pure, keeps nothing between calls, and raises nothing
    whatever the lines hold: a line that it cannot use is an `Ignored` with a reason that follows the words
    "line 7: ". It keeps the order of the file and judges no values beyond their being numbers: NaN and infinities
    are losses; seconds must be finite. No lines give an empty reading.
    """

    name: str
    """What `--format` calls the layout."""

    layout: str
    """What a line looks like, for messages."""

    def read(self, lines: Sequence[Line], keys: Keys) -> Reading:
        """The rows in `lines`."""
        ...
