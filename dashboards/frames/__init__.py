"""From the store to tidy tables, one a file: what figures and pages draw, free of queries and of matplotlib."""

from dashboards.frames.accuracies import AccuracyRow, AccuracyTable, accuracy_table, chosen_accuracies
from dashboards.frames.comparison import ComparedCell, Comparison, comparison
from dashboards.frames.coordinates import CoordinateRow, CoordinateTable, Dimension, coordinate_table
from dashboards.frames.curves import CurveRow, CurveTable, chosen_curves, curve_table
from dashboards.frames.phases import PhaseRow, PhaseTable, phase_table
from dashboards.frames.ranked import outcome, trial_table
from dashboards.frames.scaling import ScalingRow, ScalingSeries, ScalingTable, scaling_table
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
    "ComparedCell",
    "Comparison",
    "CoordinateRow",
    "CoordinateTable",
    "CurveRow",
    "CurveTable",
    "Dimension",
    "Outcome",
    "PhaseRow",
    "PhaseTable",
    "ScalingRow",
    "ScalingSeries",
    "ScalingTable",
    "TrialGroup",
    "TrialRow",
    "TrialTable",
    "accuracy_table",
    "chosen_accuracies",
    "chosen_curves",
    "comparison",
    "coordinate_table",
    "curve_table",
    "outcome",
    "phase_table",
    "scaling_table",
    "trial_table",
]
