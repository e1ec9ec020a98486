"""Logs with a header that names their columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sweeper.interchange.logs.base import Ignored, Keys, Line, Reading
from sweeper.interchange.logs.column_names import find_curve_columns, read_named
from sweeper.interchange.numbers import parse_number

_DELIMITERS = (",", "\t", ";", " ")


class CsvReader:
    """A table with a header, its fields separated by commas, tabs, semicolons or blanks; quotes as in RFC 4180."""

    name = "csv"
    layout = "a header with the names of the columns, such as `step,seconds,loss`, and a line of values for each point"

    def read(self, lines: Sequence[Line], keys: Keys) -> Reading:
        """The lines after the header; those before it are ignored."""
        found = _find_header(lines, keys)
        if found is None:
            return Reading((), tuple(Ignored(line, "is below no header") for line in lines))
        position, delimiter, header = found
        reading = read_named(_entries(lines[position + 1 :], delimiter, header), keys)
        before = tuple(Ignored(line, "stands before the header") for line in lines[:position])
        return replace(reading, ignored=before + reading.ignored, names=tuple(header))


def _find_header(lines: Sequence[Line], keys: Keys) -> tuple[int, str, list[str]] | None:
    """Position, delimiter and names of the first line that names seconds and loss, else of one that heads a table."""
    table: tuple[int, str, list[str]] | None = None
    for position, line in enumerate(lines):
        for delimiter in _DELIMITERS:
            fields = _split(line.text, delimiter)
            if fields is None or len(fields) < 2 or any(map(_is_number, fields)):
                continue
            heads = _is_row(lines[position + 1 : position + 2], delimiter, len(fields))
            # Words between blanks may be prose, such as `loss over time`.
            if find_curve_columns(fields, keys) and (heads or delimiter != " "):
                return position, delimiter, fields
            if table is None and heads and delimiter != " ":
                table = position, delimiter, fields
    return table


def _is_row(lines: Sequence[Line], delimiter: str, width: int) -> bool:
    """Whether the line below a header has as many fields, two of them numbers."""
    fields = _split(lines[0].text, delimiter) if lines else None
    return fields is not None and len(fields) == width and sum(map(_is_number, fields)) >= 2


def _entries(
    lines: Sequence[Line], delimiter: str, header: list[str]
) -> Iterator[tuple[Line, Mapping[str, object] | str]]:
    for line in lines:
        fields = _split(line.text, delimiter)
        if fields is None:
            yield line, "has a quote that is not closed"
        elif len(fields) != len(header):
            yield line, f"has {len(fields)} fields, the header {len(header)}"
        else:
            # Of two columns with one name the first counts.
            yield line, dict(zip(reversed(header), reversed(fields), strict=True))


def _split(text: str, delimiter: str) -> list[str] | None:
    if delimiter == " ":
        return text.split()
    try:
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None
    return [field.strip() for field in fields]


def _is_number(text: str) -> bool:
    try:
        parse_number(text)
    except ValueError:
        return False
    return True
