"""From the store to tidy tables, one a file: what figures and pages draw, free of queries and of matplotlib."""

from dashboards.frames.accuracies import AccuracyRow, AccuracyTable, accuracy_table
from dashboards.frames.curves import CurveRow, CurveTable, curve_table
from dashboards.frames.ranked import outcome, trial_table
from dashboards.frames.trials import (
    BATCH_SIZE,
    GLOBAL_BATCH_SIZE,
    LEARNING_RATE,
    WORKERS,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
)

__all__ = [
    "BATCH_SIZE",
    "GLOBAL_BATCH_SIZE",
    "LEARNING_RATE",
    "WORKERS",
    "AccuracyRow",
    "AccuracyTable",
    "CurveRow",
    "CurveTable",
    "Outcome",
    "TrialGroup",
    "TrialRow",
    "TrialTable",
    "accuracy_table",
    "curve_table",
    "outcome",
    "trial_table",
]
