"""The formats that keep a whole sweep: each writes it, recognises its own files, and reads them."""

from __future__ import annotations

from sweeper.interchange.formats.base import IncomingSweep, SweepFormat
from sweeper.interchange.formats.csv_table import CsvFormat
from sweeper.interchange.formats.json_document import JsonFormat

SWEEP_FORMATS: dict[str, SweepFormat] = {each.name: each for each in (CsvFormat(), JsonFormat())}

__all__ = ["SWEEP_FORMATS", "IncomingSweep", "SweepFormat"]
