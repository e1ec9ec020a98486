"""Which layout a log has, from its content."""

from __future__ import annotations

from collections.abc import Sequence

from sweeper.interchange.logs.base import Keys, Line, LogReader
from sweeper.interchange.logs.columns import ColumnsReader
from sweeper.interchange.logs.csv_lines import CsvReader
from sweeper.interchange.logs.json_lines import JsonLinesReader
from sweeper.interchange.logs.key_values import KeyValuesReader

# Where several read a file equally well the first is right: a table of two columns, say, is CSV if it has a header.
READERS: tuple[LogReader, ...] = (JsonLinesReader(), KeyValuesReader(), CsvReader(), ColumnsReader())
FORMATS: dict[str, LogReader] = {reader.name: reader for reader in reversed(READERS)}
_HEAD = 200


def recognize(lines: Sequence[Line], keys: Keys) -> LogReader | None:
    """The reader that gets the most rows of the head of a file, of the whole of it where the head has none.

    Without any row it is the first that finds names, so that an error can list them; None where there are no names.
    """
    named: LogReader | None = None
    for part in (lines[:_HEAD], lines):
        readings = {reader.name: reader.read(part, keys) for reader in READERS}
        best = max(READERS, key=lambda reader: len(readings[reader.name].rows))
        named = named or next((reader for reader in READERS if readings[reader.name].names), None)
        if best.name == "columns" and readings["csv"].names:
            # Two numbers below a header that has other names may be anything but seconds and loss.
            return FORMATS["csv"]
        if readings[best.name].rows:
            return best
    return named
