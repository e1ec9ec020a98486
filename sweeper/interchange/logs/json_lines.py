"""Logs of one JSON object, or one printed dictionary of Python, a line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.interchange.logs.base import Entry, Keys, Line, Table

# `nan`, `tensor(2.3)` and `np.float32(2.3)`, as Python prints them within a dictionary.
_WRAPPED = re.compile(
    r"(?<![\w.])(?:np\.|numpy\.|torch\.|jnp\.|tf\.)?(?:float|int|tensor|array)\w{0,10}\(\s*([^\s,()\[\]]+)[^()]*\)"
)
_NO_LITERAL = re.compile(r"(?<![\w'\"])(-?)(nan|inf)(?![\w'\"])")


class JsonLinesReader:
    """One object a line; NaN, Infinity and -Infinity are numbers, as Python's json writes them.

    Text before the first brace, such as a progress bar or a logger's prefix, is passed over.
    """

    name = "jsonl"
    layout = 'one JSON object a line, such as `{"step": 1, "seconds": 0.25, "loss": 2.3026}`'

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:  # noqa: ARG002 - all names are told
        """The objects."""
        entries = tuple(map(_entry, lines))
        names = dict.fromkeys(name for entry in entries for name in entry.values or ())
        return Table(entries, tuple(names))


def _entry(line: Line) -> Entry:
    found = _parse(line.text)
    if isinstance(found, str):
        return Entry(line, None, found, lost="{" in line.text)
    return Entry(line, found)


def _parse(text: str) -> Mapping[str, Any] | str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = python_literal(text[text.find("{") : text.rfind("}") + 1]) if "{" in text else None
        if value is None:
            return "is not JSON"
    return flat(value) if isinstance(value, dict) else "is not a JSON object"


def python_literal(text: str) -> Any:
    """What Python has printed, or JSON; None where it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        plain = _NO_LITERAL.sub(r"'\1\2'", _WRAPPED.sub(r"\1", text))  # numbers in quotes are read, too
        return ast.literal_eval(plain)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def flat(value: Mapping[Any, Any]) -> dict[str, Any]:
    """An object with the values of objects within it under dotted names; the outer ones go before."""
    if list(value) == ["sweeper"] and isinstance(value["sweeper"], dict):  # a report of a command
        return flat(value["sweeper"])
    found = {str(name): one for name, one in value.items() if not isinstance(one, dict)}
    for name, inner in value.items():
        if isinstance(inner, dict):
            for key, one in inner.items():
                if not isinstance(one, dict):
                    found.setdefault(f"{name}.{key}", one)
    return found
