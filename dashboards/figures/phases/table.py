"""The table of phases, by group, as CSV and in words."""

from __future__ import annotations

from dashboards.figures.tables.csv_text import csv_text, group_names
from dashboards.figures.tables.phases import PhaseRow, PhaseTable, phase_table
from engine.protocol import OFF_THE_CLOCK

__all__ = ["PhaseRow", "PhaseTable", "phase_name", "phase_table", "phases_csv"]


def phase_name(phase: str) -> str:
    """A phase, and whether it is part of training seconds."""
    return f"{phase} (not in training seconds)" if phase in OFF_THE_CLOCK else phase


def phases_csv(table: PhaseTable) -> str:
    """A line for each group, with seconds by phase: in all, and the mean of a step."""
    names = group_names(table.trials)
    lines = (
        [
            *map(row.group.key.get, names),
            row.trial.trial if row.trial else None,
            *map(row.seconds.get, table.phases),
            *map(row.per_step.get, table.phases),
        ]
        for row in table.rows
    )
    units = ("seconds", "seconds_per_step")
    return csv_text([*names, "trial", *(f"{name}_{unit}" for unit in units for name in table.phases)], lines)
