"""From rows to records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping

from sweeper.curve import LossPoint
from sweeper.ranking import Candidate
from sweeper.store.records import AttemptRecord, EvaluationRecord, GangRecord, SweepRecord, TrialRecord
from sweeper.trial import TrialState

_STATES = {state.value: state for state in TrialState}


def sweep_record(row: RowMapping, states: Mapping[TrialState, int], begun: int) -> SweepRecord:
    """A sweep with its trials counted by state."""
    return SweepRecord(
        id=row["id"],
        name=row["name"],
        origin=row["origin"],
        spec=row["spec"],
        threshold=row["threshold"],
        over=row["over"],
        group_by=tuple(row["group_by"]),
        created_at=row["created_at"],
        states=states,
        begun=begun,
    )


def trial_record(row: RowMapping) -> TrialRecord:
    """A trial; the columns are the record's fields, but for the state's type and a last loss that is not a number."""
    final_loss = row["final_loss"]
    if final_loss is None and row["points"]:
        final_loss = math.nan  # SQLite has no NaN and keeps it as NULL
    return TrialRecord(**{**row, "state": TrialState(row["state"]), "final_loss": final_loss})


def candidates(found: Sequence[Sequence[Any]]) -> list[Candidate]:
    """Candidates from rows of `statements.candidates_of`."""
    # All in one piece: for texts as short as these a call costs more than what it decodes.
    decoded = json.loads(f"[{','.join([row[1] for row in found])}]")
    return [
        Candidate(trial, parameters, _STATES[state], *others)
        for (trial, _, state, *others), parameters in zip(found, decoded, strict=True)
    ]


def attempt_record(row: RowMapping) -> AttemptRecord:
    """An attempt."""
    return AttemptRecord(**row)


def gang_record(row: RowMapping) -> GangRecord:
    """A gang."""
    return GangRecord(**row)


def loss_point(row: RowMapping) -> LossPoint:
    """A point of a curve."""
    return LossPoint(step=row["step"], images=row["images"], seconds=row["seconds"], loss=row["loss"])


def evaluation_record(row: RowMapping) -> EvaluationRecord:
    """An evaluation."""
    return EvaluationRecord(
        step=row["step"], images=row["images"], seconds=row["seconds"], loss=row["loss"], accuracy=row["accuracy"]
    )
