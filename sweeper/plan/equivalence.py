"""Trials of one curve: with averaged gradients, W workers of batch B learn step by step what one of W times B does."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from sweeper.plan import effective
from sweeper.plan.trial import TrialSpec
from sweeper.spec.reuse import sharing_faults


class Equivalence(NamedTuple):
    """A trial's class, None where nobody else has its curve, its cell, and its workers."""

    curve: Hashable
    cell: Hashable
    workers: int


# Of a config, what neither changes the losses nor which images are seen when, and what does not change a step's time.
NOT_OF_THE_CURVE = ("exchange", "evaluate_every", "checkpoint_every", "phases")
NOT_OF_THE_TIME = ("learning_rate", "schedule", "initial_weights", "seed")


def curves_are_shared(config: Mapping[str, Any]) -> bool:
    """Whether a trial of this config has the curve, over steps, of all others of its global batch, rate and seed.

    Up to rounding: the exchange averages gradients, and neither the model nor the rate's schedule depends on how many
    ranks there are. Of commands and of models of the user's own nobody here knows.
    """
    return "command" not in config and not sharing_faults(config)


def equivalence_of(trial: TrialSpec) -> Equivalence:
    """A trial's class and cell, as digests of what decides them."""
    config = effective(trial.config, trial.workers)
    curve = without(config, NOT_OF_THE_CURVE) if curves_are_shared(trial.config.model_dump(mode="json")) else None
    return Equivalence(curve, f"{trial.workers} {without(config, NOT_OF_THE_TIME)}", trial.workers)


def without(config: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """A config without some of its fields, as text: the same for equal ones."""
    return json.dumps({name: value for name, value in config.items() if name not in names}, sort_keys=True)
