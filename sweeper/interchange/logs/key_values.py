"""Logs of `key = value` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sweeper.interchange.logs.base import Keys, Line, Reading
from sweeper.interchange.logs.column_names import read_named

_SEPARATOR = re.compile(r"[,;\t]")


class KeyValuesReader:
    """`key = value, key = value` a line; keys may have blanks, values may not, and what is no pair is passed over."""

    name = "key-value"
    layout = "`key = value` pairs a line, such as `time = 0.25, loss = 2.3026`"

    def read(self, lines: Sequence[Line], keys: Keys) -> Reading:
        """The lines whose pairs have seconds and loss."""
        return read_named(((line, _parse(line.text)) for line in lines), keys)


def _parse(text: str) -> Mapping[str, object] | str:
    return dict(_pairs(text)) or "has no `key = value`"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in _SEPARATOR.split(text):
        key, *pieces = part.split("=")
        for piece in pieces:
            # Where blanks alone separate the pairs, a value is followed by the next key.
            value, _, next_key = piece.strip().partition(" ")
            if key.strip() and value:
                yield key.strip(), value
            key = next_key
