"""Logs with a header that names their columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from sweeper.interchange.logs.base import Entry, Keys, Line, Table
from sweeper.interchange.logs.column_names import find_curve_columns
from sweeper.interchange.numbers import is_number_like

_DELIMITERS = (",", "\t", ";", " ")


class CsvReader:
    """A table with a header, its fields separated by commas, tabs, semicolons or blanks; quotes as in RFC 4180.

    A header that stands again further down begins a new part: programs that are started again append to their file.
    """

    name = "csv"
    layout = "a header with the names of the columns, such as `step,seconds,loss`, and a line of values for each point"

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:
        """The lines after the header; those before it are ignored."""
        found = _find_header(lines, keys)
        if found is None:
            return Table(tuple(Entry(line, None, "is below no header") for line in lines))
        position, delimiter, header = found
        before = [Entry(line, None, "stands before the header") for line in lines[:position]]
        entries, names = _entries(lines[position + 1 :], delimiter, header, keys)
        return Table((*before, *entries), tuple(names))


def _find_header(lines: Sequence[Line], keys: Keys) -> tuple[int, str, list[str]] | None:
    """Position, delimiter and names of the first line that names a loss, else of one that heads a table."""
    table: tuple[int, str, list[str]] | None = None
    for position, line in enumerate(lines):
        for delimiter in _DELIMITERS:
            fields = _split(line.text, delimiter)
            if fields is None or len(fields) < 2 or any(map(is_number_like, fields)):
                continue
            heads = _is_row(lines[position + 1 : position + 2], delimiter, len(fields))
            # Words between blanks may be prose, such as `loss over time`.
            columns = find_curve_columns(fields, keys)
            if columns and (heads or (delimiter != " " and columns.seconds)):
                return position, delimiter, fields
            if table is None and heads and delimiter != " ":
                table = position, delimiter, fields
    return table


def _is_row(lines: Sequence[Line], delimiter: str, width: int) -> bool:
    """Whether the line below a header has as many fields, two of them numbers or one of them and a date."""
    fields = _split(lines[0].text, delimiter) if lines else None
    return fields is not None and len(fields) == width and sum(map(_has_digits, fields)) >= 2


def _has_digits(text: str) -> bool:
    return is_number_like(text) or text[:1].isdigit()


def _entries(
    lines: Sequence[Line], delimiter: str, header: list[str], keys: Keys
) -> tuple[list[Entry], dict[str, None]]:
    """What the lines below a header say, and all names; a header further down may have other columns."""
    entries: list[Entry] = []
    names, part = dict.fromkeys(header), 0
    for line in lines:
        fields = _split(line.text, delimiter)
        if fields is not None and _heads_a_part(fields, header, keys):
            part += 1
            again = "is the header once more" if fields == header else "is another header"
            entries.append(Entry(line, None, again))
            header = fields
            names.update(dict.fromkeys(header))
        else:
            entries.append(_entry(line, fields, delimiter, header, part))
    return entries, names


def _heads_a_part(fields: list[str], header: list[str], keys: Keys) -> bool:
    if fields == header:
        return True
    words = len(fields) > 1 and not any(map(_has_digits, fields))
    return words and find_curve_columns(fields, keys) is not None


def _entry(line: Line, fields: list[str] | None, delimiter: str, header: list[str], part: int) -> Entry:
    if fields is None:
        return Entry(line, None, "has a quote that is not closed", lost=True)
    if len(fields) != len(header):
        lost = any(map(is_number_like, fields))
        return Entry(line, None, f"has {len(fields)} fields, the header {len(header)}", lost=lost)
    cut = header[-1] if not line.ended and not line.text.rstrip(" ").endswith(('"', delimiter)) else None
    # Of two columns with one name the first counts.
    return Entry(line, dict(zip(reversed(header), reversed(fields), strict=True)), part=part, cut=cut)


def _split(text: str, delimiter: str) -> list[str] | None:
    if delimiter == " ":
        return text.split()
    try:
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None
    return [field.strip() for field in fields]
