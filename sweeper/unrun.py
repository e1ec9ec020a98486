"""What becomes of trials that need not run: given up, or recorded by what another one has shown."""

from __future__ import annotations

from dataclasses import replace

from sweeper.curve import summarize
from sweeper.running import ended_record
from sweeper.search.guide import Derived
from sweeper.store import Store, TrialRecord
from sweeper.trial import TrialState


def give_up(store: Store, trial: TrialRecord, reason: str) -> TrialRecord | None:
    """Prune a trial that waits; None where another scheduler was first, and says what becomes of it."""
    if not store.give_up(trial.id, reason):
        return None
    return replace(trial, state=TrialState.PRUNED, reason=reason, scheduler_id=None)


def derive(
    store: Store, trial: TrialRecord, derived: Derived, scheduler_id: str | None, *, oversubscribed: bool
) -> TrialRecord | None:
    """Record the curve of a trial that waits as an attempt of its own; None where another scheduler was first."""
    attempt = store.claim(trial.id, scheduler_id=scheduler_id)
    if attempt is None:
        return None
    summary = summarize(derived.points)
    state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
    reason = "" if summary.finite else f"trial {derived.source} diverged"
    store.add_points(trial.id, attempt, derived.points)
    store.finish(
        trial.id, attempt, state, summary, reason=reason, oversubscribed=oversubscribed, derived_from=derived.source
    )
    ended = ended_record(replace(trial, attempt=attempt, scheduler_id=scheduler_id), state, reason, summary)
    return replace(ended, oversubscribed=oversubscribed, derived_from=derived.source)
