"""JSON that keeps every number: what JSON has no word for is written so that any program can still read the text."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_MARK = "$number"  # {"$number": "NaN"}, and "Infinity", "-Infinity"; in {"$number": {"is": ...}} it means itself
_ITSELF = "is"
_SURROGATE = re.compile("[\ud800-\udfff]")


def dump(value: Any) -> str:
    """The value on one line, its text as it is; floats have all their digits."""
    try:
        text = _dump(value)
    except ValueError:
        text = _MARK
    if _MARK in text:
        value = _marked(value)
        text = _dump(value)
    # Half a surrogate pair can be in no file as it is.
    return text if text.isascii() or not _SURROGATE.search(text) else _dump(value, ensure_ascii=True)


def load(text: str) -> Any:
    """The value of which `dump` made the text.

    Raises:
        ValueError: it is no JSON.
    """
    return json.loads(text, object_hook=_unmarked if _MARK in text else None)


def number_words(values: list[float]) -> list[float | str]:
    """Numbers as JSON may hold them: "NaN", "Infinity" and "-Infinity" as text."""
    return [value if math.isfinite(value) else _word(value) for value in values]


def _dump(value: Any, *, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False, separators=(",", ":"))


def _marked(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_MARK: _word(value)}
    if isinstance(value, dict) and set(value) == {_MARK}:
        return {_MARK: {_ITSELF: _marked(value[_MARK])}}
    if isinstance(value, dict):
        return {name: _marked(item) for name, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list | tuple) else value


def _unmarked(found: dict[str, Any]) -> Any:
    if set(found) != {_MARK}:
        return found
    inner = found[_MARK]
    return {_MARK: inner[_ITSELF]} if isinstance(inner, dict) else float(inner)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
