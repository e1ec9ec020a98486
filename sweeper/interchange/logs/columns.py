"""Logs of two numbers a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sweeper.interchange.logs.base import Entry, Keys, Line, Table
from sweeper.interchange.numbers import is_number_like

SECONDS, LOSS = "seconds", "loss"
_COMMA = re.compile(r",(?=\s)|(?<=\s),")  # rather than one within a number


class ColumnsReader:
    """`seconds loss` a line, separated by blanks, tabs, a comma or a semicolon, without a header."""

    name = "columns"
    layout = "`seconds loss` a line, such as `0.25 2.3026`"

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:  # noqa: ARG002 - there are no names to choose from
        """The lines that hold exactly two numbers, or a time and a number."""
        return Table(tuple(map(_entry, lines)))


def _entry(line: Line) -> Entry:
    fields = _fields(line.text.strip())
    if len(fields) != 2 or not is_number_like(fields[1]) or not any(map(str.isdigit, fields[0])):
        lost = any(map(is_number_like, fields)) and len(fields) <= 3 and line.text[:1] in " \t+-.0123456789"
        return Entry(line, None, "is not two numbers", lost=lost)
    return Entry(line, dict(zip((SECONDS, LOSS), fields, strict=True)), cut=None if line.ended else LOSS)


def _fields(text: str) -> list[str]:
    if ";" in text:
        fields = text.split(";")
    elif "\t" in text:
        fields = re.split(r"\t+", text)
    elif _COMMA.search(text):
        fields = _COMMA.split(text)
    else:
        fields = text.split() if " " in text else text.split(",")
    # Neither `0.5,,2.25` nor `1,5,2,3` is a pair.
    return [field.strip() for field in fields]
