"""The parameters of an imported trial: from the command line and from the file's name."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.errors import SpecError
from sweeper.interchange.numbers import parse_number
from sweeper.spec import sweepable_fields
from sweeper.spec.axes import WORKERS
from sweeper.spec.file import split_assignment

_COUNTS = (WORKERS, "batch_size", "global_batch_size")
_LARGEST_COUNT = 2**31 - 1  # the store's integers
_EXAMPLE = r"(?P<learning_rate>\d+\.?\d*)_lr_(?P<workers>\d+)w"


def check_parameters(assignments: Sequence[str], pattern: str | None) -> None:
    """Refuse what no trial can be given, before any file is read.

    Raises:
        SpecError: an assignment or a pattern that is none.
    """
    named_parameters(["--set"], [""], assignments)
    if pattern is not None:
        _compile(pattern)


_PAIR = re.compile(r"(?<![^\W_])([A-Za-z]\w*?)\s*[=:]\s*([^\s,;=:]+?)(?=[\s,;_]|$|-[A-Za-z])")


def pairs_in_name(name: str) -> dict[str, Any]:
    """The parameters in the name of a run that is made of pairs, such as `lr=0.1,batch_size=128`."""
    return {key: number_or_text(value) for key, value in _PAIR.findall(name)}


def sort_out(recorded: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Recorded parameters that a trial can have, and those whose values it cannot."""
    good, odd = dict[str, Any](), dict[str, Any]()
    for name, value in recorded.items():
        try:
            good[name] = _checked(name, value)
        except ValueError:
            odd[name] = value
    return good, odd


def named_parameters(
    sources: Sequence[str],
    names: Sequence[str],
    assignments: Sequence[str] = (),
    pattern: str | None = None,
    recorded: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """The parameters of each of some trials, `workers` first, 1 where nothing says otherwise.

    `names` are those of their files or runs, `sources` what errors call them. `assignments` are texts such as
    "batch_size=128", with a value in YAML, for all trials. `pattern` is a regular expression that is searched in each
    name; its named groups are parameters, numbers where they can be read so. `recorded` are parameters that are known
    otherwise, where given. A name goes before what is recorded, and an assignment before both.

    Raises:
        SpecError: an assignment or a pattern that cannot be read, a name that does not match, and parameters that no
            trial can have: workers and batch sizes are whole numbers from 1, learning rates are above 0.
    """
    set_values = _assigned(assignments)
    expression = _compile(pattern) if pattern is not None else None
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    for index, (source, name_) in enumerate(zip(sources, names, strict=True)):
        named = _from_name(expression, source, name_) if expression else {}
        values = {WORKERS: 1, **(recorded[index] if recorded else {}), **named, **set_values}
        for name, value in values.items():
            try:
                values[name] = _checked(name, value)
            except ValueError as error:
                problems.append(f"{_origin(name, source, set_values, named)}: {error}")
        found.append(values)
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    return found


def _origin(name: str, source: str, set_values: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    if name in set_values:
        return f"--set {name}"
    return f"{source}: {name} in the file's name" if name in named else f"{source}: its parameter {name}"


def _assigned(assignments: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    problems: list[str] = []
    for text in assignments:
        try:
            name, value = split_assignment(text, "batch_size=128")
            _check_name(name)
        except SpecError as error:
            problems += error.problems
        else:
            values[name] = value
    if problems:
        raise SpecError(problems)
    return values


def _check_name(name: str) -> None:
    fields = sweepable_fields()
    if name not in fields and not name.isidentifier():
        near = difflib.get_close_matches(name, fields, n=1)
        remedy = f"did you mean {near[0]}?" if near else "write it with letters, digits and underscores"
        raise SpecError([f"--set {name}: is no name of a parameter; {remedy}"])


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise SpecError(
            [f"--pattern {pattern!r}: is no regular expression ({error}); write it like {_EXAMPLE}"]
        ) from None
    if not expression.groupindex:
        raise SpecError([f"--pattern {pattern!r}: has no named group; write it like {_EXAMPLE}"])
    return expression


def _from_name(expression: re.Pattern[str], source: str, name: str) -> dict[str, Any]:
    match = expression.search(name)
    if match is None:
        raise SpecError(
            [f"{source}: its name {name!r} does not match --pattern {expression.pattern!r}; correct the pattern"]
        )
    return {name: number_or_text(text) for name, text in match.groupdict().items() if text is not None}


def number_or_text(text: str) -> int | float | str:
    """A finite number where the text is one."""
    try:
        number = parse_number(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else number


def _checked(name: str, value: Any) -> Any:
    """The value in its normal type.

    Raises:
        ValueError: what is wrong with it, and the remedy.
    """
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{value!r} is no value of a parameter; give a finite number or a text (in quotes)")
    number = math.nan if isinstance(value, str | bool) else value
    if name in _COUNTS:
        if not 1 <= number <= _LARGEST_COUNT or number != int(number):
            raise ValueError(f"{value!r} is no count; give a whole number of at least 1")
        return int(number)
    if name == "learning_rate" and not number > 0:
        raise ValueError(f"{value!r} is no learning rate; give a number above 0")
    return value
