"""Where on a table's axis something was measured."""

from __future__ import annotations

from dashboards.frames.trials import WORKERS, TrialRow, TrialTable
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.curve import LossPoint
from sweeper.spec import DOLLARS
from sweeper.store import EvaluationRecord, TrialRecord


def position(at: LossPoint | EvaluationRecord, trial: TrialRow | TrialRecord, table: TrialTable) -> float | None:
    """Seconds, images, steps or dollars, as the table has it; None where they are not known."""
    if table.over == DOLLARS and table.rate is not None:
        return at.seconds * dollars_per_second({WORKERS: trial.workers}, table.rate)
    return {"seconds": at.seconds, "images": at.images, "steps": at.step}[table.over]
