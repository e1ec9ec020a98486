"""Runs that other programs have recorded, as sweeps: a reader for each kind of store."""

from __future__ import annotations

from sweeper.interchange.foreign.base import ForeignOptions, RunsReader
from sweeper.interchange.foreign.event_folder import EventFolderReader
from sweeper.interchange.foreign.mlflow_folder import MlflowFolderReader
from sweeper.interchange.foreign.mlflow_store import MlflowReader

_ALL: tuple[RunsReader, ...] = (MlflowReader(), MlflowFolderReader(), EventFolderReader())
RUNS_READERS: dict[str, RunsReader] = {each.name: each for each in _ALL}

__all__ = ["RUNS_READERS", "ForeignOptions", "RunsReader"]
