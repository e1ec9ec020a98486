"""Logs of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sweeper.interchange.logs.base import Keys, Line, Reading
from sweeper.interchange.logs.column_names import read_named


class JsonLinesReader:
    """One JSON object a line; NaN, Infinity and -Infinity are numbers, as Python's json writes them."""

    name = "jsonl"
    layout = 'one JSON object a line, such as `{"step": 1, "seconds": 0.25, "loss": 2.3026}`'

    def read(self, lines: Sequence[Line], keys: Keys) -> Reading:
        """The objects that have seconds and loss."""
        return read_named(((line, _parse(line.text)) for line in lines), keys)


def _parse(text: str) -> Mapping[str, object] | str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "is no JSON"
    return value if isinstance(value, dict) else "is no JSON object"
