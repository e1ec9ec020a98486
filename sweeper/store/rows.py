"""From rows to records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from sqlalchemy import RowMapping

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint
from sweeper.spec import StoredSpec
from sweeper.spec.stored import config_as_meant, spec_as_meant
from sweeper.store.json_texts import all_decoded, decoded
from sweeper.store.records import (
    AttemptRecord,
    EvaluationRecord,
    GangRecord,
    SweepRecord,
    TrialRecord,
    WaitingTrial,
)

_STATES = {state.value: state for state in TrialState}


def sweep_record(row: RowMapping, states: Mapping[TrialState, int], begun: bool, held: int) -> SweepRecord:
    """A sweep with its trials counted by state."""
    return SweepRecord(
        id=row["id"],
        name=row["name"],
        origin=row["origin"],
        spec=StoredSpec(spec_as_meant(row["spec"])),
        threshold=row["threshold"],
        over=row["over"],
        group_by=tuple(row["group_by"]),
        created_at=row["created_at"],
        states=states,
        begun=begun,
        held=held,
        stop_asked=row["stop_asked_at"] is not None,
    )


def trial_record(row: RowMapping) -> TrialRecord:
    """A trial; the columns are the record's fields.

    But for the type of states, a last loss that is not a number, and settings in today's words.
    """
    final_loss = row["final_loss"]
    if final_loss is None and row["points"]:
        final_loss = math.nan  # SQLite has no NaN and keeps it as NULL
    config = config_as_meant(row["config"])
    states = {"state": TrialState(row["state"]), "kept_state": row["kept_state"] and TrialState(row["kept_state"])}
    return TrialRecord(**{**row, **states, "final_loss": final_loss, "config": config})


def candidates(found: Sequence[Sequence[Any]]) -> list[Candidate]:
    """Candidates from rows of `statements.candidates_of`."""
    if not found:
        return []
    trials, texts, states, finite, *curve, place, shared, source, chance = zip(*found, strict=True)
    # Column by column: there are many rows, and a loop of our own over them takes three times as long.
    known = (trials, all_decoded(texts), map(_STATES.__getitem__, states), map(bool, finite), *curve, place)
    columns = zip(*known, map(bool, shared), source, map(bool, chance), repeat(()), strict=False)
    return list(map(tuple.__new__, repeat(Candidate), columns))  # as `_make`, without a call of Python's for each


def waiting_trials(found: Sequence[Sequence[Any]]) -> list[WaitingTrial]:
    """Trials that wait, from rows whose last two columns are the text of JSON; few differ in the last one."""
    resources = {text: decoded(text) for text in {row[-1] for row in found}}
    parameters = all_decoded([row[-2] for row in found])
    return [
        WaitingTrial(trial_id, position, workers, own, resources[text])
        for (trial_id, position, workers, _, text), own in zip(found, parameters, strict=True)
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
