"""Logs that are one JSON document: a list of objects, an object with such a list, or a list of values for each name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sweeper.interchange.logs.base import Entry, Keys, Line, Table
from sweeper.interchange.logs.column_names import find_name, is_of_evaluation
from sweeper.interchange.logs.json_lines import flat, python_literal

_DEEPEST = 3


class JsonDocumentReader:
    """A document of several lines, such as the `trainer_state.json` of Transformers or a saved history of Keras.

    An entry's line is the document's first one: its own is not known.
    """

    name = "json-document"
    layout = 'one JSON document with a list of objects, such as `{"log_history": [{"step": 1, "loss": 2.3026}]}`'

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:
        """The objects of the list that has the losses, or the values of its lists of numbers."""
        text = "\n".join(line.text for line in lines)
        document = python_literal(text) if text.lstrip()[:1] in ("{", "[") else None
        objects = list(_objects(document, keys)) if isinstance(document, dict | list) else []
        if not objects:
            return Table(tuple(Entry(line, None, _why_not(text)) for line in lines))
        entries = tuple(
            Entry(Line(number, json.dumps(one, default=str)), flat(one)) for number, one in enumerate(objects, start=1)
        )
        return Table(entries, tuple(dict.fromkeys(name for entry in entries for name in entry.values or ())))


def _objects(document: Any, keys: Keys) -> Sequence[Mapping[str, Any]]:
    """The objects of the list that has the losses; of several lists, each under its name in `run`."""
    lists = {name: one for name, one in _lists(document, "", _DEEPEST) if _has_loss(one, keys)}
    training = {name: one for name, one in lists.items() if not is_of_evaluation(name)} or lists
    if len(training) == 1:
        return next(iter(training.values()))
    if training:
        return [{**one, "run": name} for name, objects in training.items() for one in objects]
    return list(_of_columns(document))


def _has_loss(objects: Sequence[Mapping[str, Any]], keys: Keys) -> bool:
    return any(find_name("loss", flat(one), keys.loss) is not None for one in objects)


def _lists(value: Any, name: str, deep: int) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    if isinstance(value, list) and len(value) > 0 and all(isinstance(one, dict) for one in value):
        yield name, value
    elif isinstance(value, dict) and deep:
        for key, inner in value.items():
            yield from _lists(inner, f"{name}.{key}" if name else str(key), deep - 1)


def _of_columns(document: Any) -> Iterator[Mapping[str, Any]]:
    """Objects from lists of values of one length, as `{"loss": [2.3, 1.9], "acc": [0.1, 0.3]}`."""
    if not isinstance(document, dict):
        return
    lists = {str(name): value for name, value in document.items() if isinstance(value, list) and value}
    inner = [value for value in document.values() if isinstance(value, dict)]
    if not lists and len(inner) == 1:
        yield from _of_columns(inner[0])
        return
    # Values of another length are shown as a line of their own, which then is one that lacks them.
    for index in range(max(map(len, lists.values()), default=0)):
        yield {name: value[index] for name, value in lists.items() if index < len(value)}


def _why_not(text: str) -> str:
    try:
        json.loads(text)
    except RecursionError:
        return "is part of a JSON document that is nested too deep"
    except ValueError as error:
        return f"is part of a JSON document that cannot be read ({error})"
    return "is part of a JSON document without a list of objects"
