"""Runs that other programs have recorded, as sweeps: a reader for each kind of store."""

from __future__ import annotations

from sweeper.interchange.foreign.base import ForeignOptions, RunsReader

RUNS_READERS: dict[str, RunsReader] = {}

__all__ = ["RUNS_READERS", "ForeignOptions", "RunsReader"]
