"""From a spec to its trials, always the same list; the states of trials and sweeps; equivalent trials."""

from __future__ import annotations

from sweeper.plan.content import content_key, effective
from sweeper.plan.expansion import MAXIMUM_TRIALS, PlannedTrials, outermost, plan, trials_at
from sweeper.plan.making import with_seed
from sweeper.plan.written import WrittenTrial, written_trials

__all__ = [
    "MAXIMUM_TRIALS",
    "PlannedTrials",
    "WrittenTrial",
    "content_key",
    "effective",
    "outermost",
    "plan",
    "trials_at",
    "with_seed",
    "written_trials",
]
