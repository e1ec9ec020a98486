"""A sweep with all that was recorded of it, as it leaves one store and comes into another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sweeper.ranking.curve import LossPoint
from sweeper.store.records import AttemptRecord, EvaluationRecord, GangRecord, Printed, TrialRecord


@dataclass(frozen=True)
class ArchivedSweep:
    """A sweep without its trials; `spec` is None for an imported one.

    Areas of earlier exports are not `areas_from_zero`, and are computed anew when they come into a store.
    """

    id: str
    name: str
    origin: str
    spec: dict[str, Any] | None
    threshold: float | None
    over: str
    group_by: tuple[str, ...]
    created_at: datetime
    stop_asked_at: datetime | None
    gangs: tuple[GangRecord, ...]
    areas_from_zero: bool = True


@dataclass(frozen=True)
class ArchivedAttempt:
    """An attempt, what it reported and printed; `phases` are total seconds by name, sorted by it."""

    record: AttemptRecord
    points: tuple[LossPoint, ...]
    evaluations: tuple[EvaluationRecord, ...]
    phases: dict[str, float]
    printed: Printed | None = None


@dataclass(frozen=True)
class ArchivedTrial:
    """A trial with its attempts, first to last. Nobody holds it: the lease that it runs under stays with its store."""

    record: TrialRecord
    attempts: tuple[ArchivedAttempt, ...]


@dataclass(frozen=True)
class Archive:
    """A sweep that is being read.

    `trials` are without attempts, in the order of the plan; `read` goes through them with all that they have, and
    holds few of them at a time. Each trial is of one moment; those of a sweep that runs are of several moments.
    """

    sweep: ArchivedSweep
    trials: tuple[TrialRecord, ...]
    read: Callable[[], Iterator[ArchivedTrial]]
