"""Logs that are one JSON document: a list of objects, an object with such a list, or a list of values for each name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sweeper.interchange.logs.base import Entry, Keys, Line, Table
from sweeper.interchange.logs.json_lines import flat, python_literal

_DEEPEST = 3


class JsonDocumentReader:
    """A document of several lines, such as the `trainer_state.json` of Transformers or a saved history of Keras.

    An entry's line is the document's first one: its own is not known.
    """

    name = "json-document"
    layout = 'one JSON document with a list of objects, such as `{"log_history": [{"step": 1, "loss": 2.3026}]}`'

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:  # noqa: ARG002 - all names are told
        """The objects of its longest list, or the values of its lists of one length."""
        text = "\n".join(line.text for line in lines)
        document = python_literal(text) if text.lstrip()[:1] in ("{", "[") else None
        objects = list(_objects(document)) if isinstance(document, dict | list) else []
        if not objects:
            return Table(tuple(Entry(line, None, _why_not(text)) for line in lines))
        entries = tuple(
            Entry(Line(number, json.dumps(one, default=str)), flat(one)) for number, one in enumerate(objects, start=1)
        )
        return Table(entries, tuple(dict.fromkeys(name for entry in entries for name in entry.values or ())))


def _objects(document: Any) -> Sequence[Mapping[str, Any]]:
    found = max(_lists(document, _DEEPEST), key=len, default=[])
    return found or list(_of_columns(document))


def _lists(value: Any, deep: int) -> Iterator[list[Mapping[str, Any]]]:
    if isinstance(value, list) and len(value) > 0 and all(isinstance(one, dict) for one in value):
        yield value
    elif isinstance(value, dict) and deep:
        for inner in value.values():
            yield from _lists(inner, deep - 1)


def _of_columns(document: Any) -> Iterator[Mapping[str, Any]]:
    """Objects from lists of values: the longest lists of one length, as `{"loss": [2.3, 1.9], "acc": [0.1, 0.3]}`."""
    if not isinstance(document, dict):
        return
    lists = {str(name): value for name, value in document.items() if isinstance(value, list) and value}
    inner = [value for value in document.values() if isinstance(value, dict)]
    if not lists and len(inner) == 1:
        yield from _of_columns(inner[0])
        return
    longest = max(map(len, lists.values()), default=0)
    columns = {name: value for name, value in lists.items() if len(value) == longest}
    for index in range(longest):
        yield {name: value[index] for name, value in columns.items()}


def _why_not(text: str) -> str:
    try:
        json.loads(text)
    except RecursionError:
        return "is part of a JSON document that is nested too deep"
    except ValueError as error:
        return f"is part of a JSON document that cannot be read ({error})"
    return "is part of a JSON document without a list of objects"
