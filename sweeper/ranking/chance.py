"""Trials that never learnt: their loss stayed at what guessing gives.

Whoever guesses among c classes, each as likely as the others, has a cross-entropy of ln c. A trial is at chance when it
completed and its minimum loss never came below 0.95 ln c.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.config import CLASSES, MODELS
from sweeper.plan.trial import TrialState

SHARE = 0.95
LIMITS: dict[str, float] = {data: SHARE * math.log(classes) for data, classes in CLASSES.items()}


def chance_limit(config: Mapping[str, Any]) -> float | None:
    """The loss that a trial of these settings must come below to have learnt anything.

    None where nobody knows it: for a command, a model or a data set of the user's own, and data without classes.
    """
    return LIMITS.get(config.get("data", "")) if config.get("model") in MODELS else None


def is_at_chance(state: TrialState, minimum_loss: float | None, limit: float | None) -> bool:
    """Whether a trial completed, and its minimum loss never came below the `limit` of `chance_limit`."""
    if limit is None or minimum_loss is None:
        return False
    return state is TrialState.COMPLETED and minimum_loss >= limit
