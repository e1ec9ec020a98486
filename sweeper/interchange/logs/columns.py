"""Logs of two numbers a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sweeper.interchange.logs.base import Ignored, Keys, Line, Reading, Row
from sweeper.interchange.numbers import parse_number, parse_seconds

_SEPARATOR = re.compile(r"\s*,\s*|\s+")


class ColumnsReader:
    """`seconds loss` a line, separated by blanks, tabs or a comma, without a header."""

    name = "columns"
    layout = "`seconds loss` a line, such as `0.25 2.3026`"

    def read(self, lines: Sequence[Line], keys: Keys) -> Reading:  # noqa: ARG002 - there are no names to choose from
        """The lines that hold exactly two numbers."""
        rows: list[Row] = []
        ignored: list[Ignored] = []
        for line in lines:
            try:
                rows.append(_row(line))
            except ValueError as error:
                ignored.append(Ignored(line, str(error)))
        return Reading(tuple(rows), tuple(ignored))


def _row(line: Line) -> Row:
    fields = _SEPARATOR.split(line.text.strip())
    if len(fields) != 2:
        raise ValueError("is not two numbers")
    return Row(line, seconds=parse_seconds(fields[0]), loss=parse_number(fields[1]))
