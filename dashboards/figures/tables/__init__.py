"""The tables that figures share: all trials of a sweep, ranked; without matplotlib and Plotly."""

from dashboards.figures.tables.ranked import outcome, trial_table
from dashboards.figures.tables.trials import (
    BATCH_SIZE,
    EPOCHS,
    GLOBAL_BATCH_SIZE,
    LEARNING_RATE,
    MAXIMUM_GROUPS,
    WORKERS,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
    check_areas,
    check_groups,
)

__all__ = [
    "BATCH_SIZE",
    "EPOCHS",
    "GLOBAL_BATCH_SIZE",
    "LEARNING_RATE",
    "MAXIMUM_GROUPS",
    "WORKERS",
    "Outcome",
    "TrialGroup",
    "TrialRow",
    "TrialTable",
    "check_areas",
    "check_groups",
    "outcome",
    "trial_table",
]
