"""The formats that keep a whole sweep: each writes it, recognises its own files, and reads them."""

from __future__ import annotations

from sweeper.interchange.formats.base import IncomingSweep, SweepFormat
from sweeper.interchange.formats.csv_table import CsvFormat
from sweeper.interchange.formats.json_document import JsonFormat
from sweeper.interchange.formats.optuna_storage import OptunaFormat
from sweeper.interchange.formats.parquet_table import ParquetFormat
from sweeper.interchange.formats.tensorboard_folder import TensorBoardFormat

_ALL: tuple[SweepFormat, ...] = (CsvFormat(), ParquetFormat(), JsonFormat(), TensorBoardFormat(), OptunaFormat())
SWEEP_FORMATS: dict[str, SweepFormat] = {each.name: each for each in _ALL}

__all__ = ["SWEEP_FORMATS", "IncomingSweep", "SweepFormat"]
