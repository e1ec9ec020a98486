"""From pydantic's findings to one line a fault: the field, the value, the remedy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, get_args

from pydantic import BaseModel, RootModel, Tag, ValidationError
from pydantic_core import ErrorDetails

# What to do about each kind of finding, from its own details.
_REMEDIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "greater_than": lambda d: f"must be greater than {d['gt']:g}; give a larger number",
    "greater_than_equal": lambda d: f"must be at least {d['ge']:g}; give a larger number",
    "less_than": lambda d: f"must be less than {d['lt']:g}; give a smaller number",
    "literal_error": lambda d: f"is not known; use one of {d['expected']}",
    "int_parsing": lambda _: "is no number; give a whole number",
    "int_from_float": lambda _: "is no whole number; give one",
    "int_type": lambda _: "is no number; give a whole number",
    "float_parsing": lambda _: "is no number; give one, such as 0.1 or 1e-3",
    "float_type": lambda _: "is no number; give one, such as 0.1 or 1e-3",
    "finite_number": lambda _: "is not finite; give a finite number",
    "string_type": lambda _: "is no text; put it in quotes",
    "string_too_short": lambda _: "is empty; give at least one character",
    "model_type": lambda _: "is no mapping; write its keys below it, or remove it",
    "dict_type": lambda _: "is no mapping; write its keys below it, or remove it",
    "tuple_type": lambda _: "is no list; write it in brackets, like [a, b]",
    "invalid_key": lambda _: "is no name of a field; remove it",
}
_MOST_KEYS = 6  # that are named where a mapping is missing
_MOST_PATHS = 3  # that are suggested for a key in a wrong place
# Names of union members and of keys, which pydantic puts among the names of the file.
_NOT_IN_FILE = re.compile(r"(list|kind)\[.*\]|\[key\]")


def describe_faults(
    error: ValidationError, model: type[BaseModel], prefix: str = "", only: str = "", value: Any = None
) -> list[str]:
    """One line for each finding in `error`, which came from validating `model`.

    `prefix` goes before each field's name. With `only`, the finding belongs to that swept field and its `value`,
    whatever the place that pydantic names.
    """
    lines: list[str] = []
    for details in error.errors():
        lines += _describe(details, model, prefix, only, value)
    return list(dict.fromkeys(lines))


def _describe(details: ErrorDetails, model: type[BaseModel], prefix: str, only: str, value: Any) -> list[str]:
    place = _place(details["loc"], prefix, only)
    given = value if only else details["input"]
    not_finite = isinstance(given, float) and not math.isfinite(given)
    kind, context = "finite_number" if not_finite else details["type"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return [f"{place}: unknown key; {_nearest(details['loc'], model)}"]
    if kind == "missing":
        return [f"{place}: is missing; add it"]
    if kind == "too_short" and place == "space":
        return ["space: is empty; give at least one field with its values, such as learning_rate: [0.1, 0.2]"]
    if kind == "value_error":
        own = [line for line in str(context["error"]).splitlines() if line]
        if not details["loc"] and not only:
            return [f"{prefix}: {line}" for line in own] if prefix else own  # SweepSpec itself names the fields
        return [f"{place}: {_show(given)}: {line}" if _is_plain(given) else f"{place}: {line}" for line in own]
    if kind == "model_type" and not only:
        keys = _keys_at(details["loc"], model)
        return [f"{place}: {_show(given)} is no mapping; write its keys{keys} below it, or remove it"]
    remedy = _REMEDIES.get(kind)
    problem = remedy(context) if remedy else f"is refused: {details['msg'][:1].lower()}{details['msg'][1:]}; correct it"
    return [f"{place}: {_show(given)} {problem}"]


def _keys_at(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """The keys that a mapping may have, in brackets; nothing where these are many."""
    keys = _fields_at(loc, model)
    return f" ({', '.join(keys)})" if len(keys) <= _MOST_KEYS else ""


def _place(loc: tuple[int | str, ...], prefix: str, only: str) -> str:
    if only:
        return f"{prefix}.{only}"
    parts = [prefix] if prefix else []
    for part in loc:
        if isinstance(part, int) and parts:
            parts[-1] += f"[{part}]"
        elif isinstance(part, int) or not _NOT_IN_FILE.fullmatch(part):
            parts.append(show_name(str(part)))
    return ".".join(parts) or "spec"


def _nearest(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    if loc[-1] == "workers":
        return "put it below space"
    known, unknown = _fields_at(loc[:-1], model), str(loc[-1])
    others = ["command"] if loc[:1] == ("trial",) and len(loc) == 3 else []  # which makes the trial one of another kind
    elsewhere = [] if loc[0] == "space" else _elsewhere(unknown, model, at_top=len(loc) == 1)
    elsewhere = [path for path in elsewhere if path != _place(loc, "", "")]  # which is one of a trial of another kind
    near = difflib.get_close_matches(unknown, [*known, *others], n=1)
    if near and not any(path.rpartition(".")[2] == unknown for path in elsewhere):
        return f"did you mean {near[0]}?"
    return f"did you mean {_either(elsewhere)}?" if elsewhere else f"known are {', '.join(known)}"


def _elsewhere(name: str, model: type[BaseModel], *, at_top: bool) -> list[str]:
    """Paths of fields of the whole spec with this name, the shallowest first, a few.

    Of a key `at_top` where there is none, those with the nearest name.
    """
    paths = _paths(model)
    names = list(dict.fromkeys(path.rpartition(".")[2] for path in paths))
    near = [name] if name in names or not at_top else difflib.get_close_matches(name, names, n=1)
    return [path for path in paths if path.rpartition(".")[2] in near][:_MOST_PATHS]


def _paths(model: type[BaseModel]) -> list[str]:
    """All fields of a model and of the models in it, by their dotted paths, the shallowest first."""
    found, level = [], [("", model)]
    while level:
        fields = [(f"{at}{name}", field.annotation) for at, one in level for name, field in one.model_fields.items()]
        found += [path for path, _ in fields]
        inner = [(path, annotation) for path, annotation in fields if path != "space"]  # whose names are the user's
        level = [(f"{path}.", one) for path, annotation in inner for one in _models_in(annotation)]
    return list(dict.fromkeys(found))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [] if issubclass(annotation, RootModel) else [annotation]
    return [one for part in get_args(annotation) for one in _models_in(part)]


def _either(paths: Sequence[str]) -> str:
    *first, last = (path if "." in path else f"{path} at the top" for path in paths)
    return f"{', '.join(first)} or {last}" if first else last


def _fields_at(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    from sweeper.spec.axes import Range

    for number, part in enumerate(loc):
        if part == "space":
            return list(Range.model_fields)
        field = model.model_fields.get(str(part))
        if field is None:
            continue
        kinds = _tagged(field.annotation)
        annotation = kinds[str(loc[number + 1])] if kinds and len(loc) > number + 1 else field.annotation
        if len(inner := _models_in(annotation)) == 1:  # it may be absent, too
            model = inner[0]
    return list(model.model_fields)


def _tagged(annotation: Any) -> dict[str, Any]:
    """The members of a union whose members have tags, by these."""
    return {
        mark.tag: get_args(member)[0]
        for member in get_args(annotation)
        for mark in getattr(member, "__metadata__", ())
        if isinstance(mark, Tag)
    }


def show_name(name: str) -> str:
    """A key as it goes into a line: as it is, or quoted where it would break the line."""
    return name if name.isprintable() else repr(name)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
