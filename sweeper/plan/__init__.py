"""From a spec to its trials, always the same list; the states of trials and sweeps; equivalent trials."""

from __future__ import annotations

from sweeper.plan.expansion import MAXIMUM_TRIALS, content_key, effective, outermost, plan, trials_at, with_seed

__all__ = [
    "MAXIMUM_TRIALS",
    "content_key",
    "effective",
    "outermost",
    "plan",
    "trials_at",
    "with_seed",
]
