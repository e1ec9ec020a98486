"""Which layout a log has, from its content."""

from __future__ import annotations

from collections.abc import Sequence

from sweeper.interchange.logs.base import Line, LogOptions, LogReader, Table
from sweeper.interchange.logs.chart import runs_of
from sweeper.interchange.logs.column_names import find_name
from sweeper.interchange.logs.columns import ColumnsReader
from sweeper.interchange.logs.csv_lines import CsvReader
from sweeper.interchange.logs.json_document import JsonDocumentReader
from sweeper.interchange.logs.json_lines import JsonLinesReader
from sweeper.interchange.logs.key_values import KeyValuesReader
from sweeper.interchange.logs.rows import rows_of

_DOCUMENT = JsonDocumentReader()
# Where several read a file equally well the first is right: a table of two columns, say, is CSV if it has a header.
READERS: tuple[LogReader, ...] = (JsonLinesReader(), KeyValuesReader(), CsvReader(), ColumnsReader())
FORMATS: dict[str, LogReader] = {reader.name: reader for reader in (*reversed(READERS), _DOCUMENT)}
_HEAD = 200


def recognize(lines: Sequence[Line], options: LogOptions) -> LogReader | None:
    """The reader that gets the most rows of the head of a file, of the whole of it where the head has none.

    Of as many rows those with seconds count more. Without any row it is the first that finds names, so that an error
    can list them; None where there are no names.
    """
    if _is_document(lines, options):
        return _DOCUMENT
    named: LogReader | None = None
    for part in (lines[:_HEAD], lines):
        tables = {reader.name: reader.read(part, options.keys) for reader in READERS}
        rows = {name: _rows(table, options) for name, table in tables.items()}
        best = max(READERS, key=lambda reader: rows[reader.name])
        named = named or next((reader for reader in READERS if tables[reader.name].names), None)
        if best.name == "columns" and tables["csv"].names:
            # Two numbers below a header that has other names may be anything but seconds and loss.
            return FORMATS["csv"]
        if rows[best.name] > (0, 0):
            return best
    return named


def _is_document(lines: Sequence[Line], options: LogOptions) -> bool:
    """Whether a file is one JSON document rather than an object a line."""
    first = lines[0].text.strip() if lines else ""
    if first in ("{", "[", "[{"):
        return True
    if not first.startswith(("{", "[")) or (len(lines) > 1 and first.count("{") == first.count("}") > 0):
        return False
    names = _DOCUMENT.read(lines, options.keys).names
    return bool(names) and (len(lines) > 1 or find_name("loss", names, options.keys.loss) is not None) and "[" in first


def _rows(table: Table, options: LogOptions) -> tuple[int, int]:
    """How many rows a table has, and how many with seconds; those that wait for the decimal mark count, too."""
    found = [rows_of(run.table, options) for run in runs_of(table, options.keys) or ()] or [rows_of(table, options)]
    with_seconds = everything = 0
    for reading in found:
        count = len(reading.rows) if reading.style else len(table.entries)
        everything += count
        with_seconds += count if reading.columns and reading.columns.seconds else 0
    return everything, with_seconds
