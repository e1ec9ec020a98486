"""The database of sweeps, trials and curves: SQLite by default, PostgreSQL for many writers."""

from sweeper.store.connection import is_missing
from sweeper.store.records import (
    AttemptRecord,
    AttemptSpan,
    EvaluationRecord,
    GangRecord,
    Printed,
    SchedulerRecord,
    Settled,
    SubmissionRecord,
    SweepRecord,
    TrialPhases,
    TrialRecord,
    WaitingTrial,
    per_step,
)
from sweeper.store.store import Store, open_store, read_store

__all__ = [
    "AttemptRecord",
    "AttemptSpan",
    "EvaluationRecord",
    "GangRecord",
    "Printed",
    "SchedulerRecord",
    "Settled",
    "Store",
    "SubmissionRecord",
    "SweepRecord",
    "TrialPhases",
    "TrialRecord",
    "WaitingTrial",
    "is_missing",
    "open_store",
    "per_step",
    "read_store",
]
