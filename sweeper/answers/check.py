"""Whether derived trials hold: a sample of them is trained for real, and the differences are told."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from sweeper.errors import NotFoundError, SpecError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.spec import SweepSpec
from sweeper.spec.sweep_name import LONGEST
from sweeper.store import Store, SweepRecord, TrialRecord

_ENDING = "-check"


def sample_derived(store: Store, sweep: SweepRecord, count: int, seed: int) -> list[TrialRecord]:
    """So many of a sweep's derived trials, drawn by a seed, in the order of the plan; all where there are no more.

    Raises:
        SpecError: a count that is none.
        NotFoundError: none of its trials is derived.
    """
    if count < 1:
        raise SpecError([f"--sample: {count} is no number of trials; give at least 1"])
    derived = [trial for trial in store.trials.of(sweep.id, [TrialState.COMPLETED]) if trial.derived_from]
    if not derived:
        raise NotFoundError(f"sweep {sweep.id}: none of its trials is derived", "reuse: equivalent derives some")
    chosen = random.Random(seed).sample(derived, min(count, len(derived)))
    return sorted(chosen, key=lambda trial: trial.position)


def spec_of_check(sweep: SweepRecord) -> SweepSpec:
    """The spec of a sweep that trains trials of another one, each to its end."""
    written = {**(sweep.spec.written or {}), "name": sweep.name[: LONGEST - len(_ENDING)] + _ENDING}
    return SweepSpec.model_validate({**written, "reuse": "none", "prune": "none", "repeats": 1})


def check_answer(
    store: Store, sweep: SweepRecord, derived: Sequence[TrialRecord], check: SweepRecord
) -> dict[str, Any]:
    """{"sweep", "name", "check", "trials": [...], "largest_area_difference", "largest_loss_difference"}.

    Of each trial the areas over seconds and the seconds, derived and trained, "area_difference" relative to the trained
    one, and "loss_difference", the largest of a loss relative to the trained one; None where the trained one has not
    completed.
    """
    trained = {trial.planned.key: trial for trial in store.trials.of(check.id)}
    rows = [_compared(store, one, trained[one.planned.key]) for one in derived if one.planned.key in trained]
    return {
        "sweep": sweep.id,
        "name": sweep.name,
        "check": check.id,
        "trials": rows,
        "largest_area_difference": _largest(rows, "area_difference"),
        "largest_loss_difference": _largest(rows, "loss_difference"),
    }


def _compared(store: Store, derived: TrialRecord, trained: TrialRecord) -> dict[str, Any]:
    complete = trained.state is TrialState.COMPLETED
    curve_of = store.attempts.points
    return {
        "trial": derived.id,
        "derived_from": derived.derived_from,
        "trained": trained.id,
        "state": trained.state.value,
        "parameters": derived.parameters,
        "derived_area": derived.area_seconds,
        "trained_area": trained.area_seconds,
        "derived_seconds": derived.seconds,
        "trained_seconds": trained.seconds,
        "area_difference": _difference(derived.area_seconds, trained.area_seconds) if complete else None,
        "loss_difference": _loss_difference(curve_of(derived.id), curve_of(trained.id)) if complete else None,
    }


def _difference(value: float | None, true: float | None) -> float | None:
    return None if value is None or not true else value / true - 1


def _loss_difference(derived: Sequence[LossPoint], trained: Sequence[LossPoint]) -> float | None:
    losses = {point.step: point.loss for point in derived}
    found = [_difference(losses[point.step], point.loss) for point in trained if point.step in losses]
    return max((abs(one) for one in found if one is not None and math.isfinite(one)), default=None)


def _largest(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    return max((abs(row[name]) for row in rows if row[name] is not None), default=None)
