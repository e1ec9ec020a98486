"""From a spec to its trials, the same list for the same spec; states of trials; which trials are equivalent."""

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
