"""When trials of one global batch have one curve, whatever their workers: what a config must be for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config import BATCH_NORMALISED, MODELS

# Fields that are asked.
DECISIVE = {"model", "exchange.average", "schedule.linear_scaling", "augmentation.instances", "parallel.channels"}
# Models of which a rank's share of a batch is all that it needs: no statistics over the batch (batch normalisation),
# nothing drawn by rank (dropout).
_ALIKE_ON_ALL_RANKS = ("alexnet-cifar", "mlp", "neuron")


def sharing_faults(config: Mapping[str, Any]) -> list[str]:
    """Why trials of a config, as JSON has it, do not share curves; none where they do."""
    problems = []
    if config.get("model") not in _ALIKE_ON_ALL_RANKS:
        known = ", ".join(_ALIKE_ON_ALL_RANKS)
        problems.append(f"model {config.get('model')} may learn otherwise from shares of a batch; use one of {known}")
    return problems + faults_beside_the_model(config)


def faults_beside_the_model(config: Mapping[str, Any]) -> list[str]:
    """The same of everything but the model."""
    exchange, schedule, augmentation, parallel = (
        config.get(name) or {} for name in ("exchange", "schedule", "augmentation", "parallel")
    )
    problems = []
    if parallel.get("channels", 1) > 1:
        problems.append(f"parallel.channels is {parallel['channels']}, and the workers share layers; use 1")
    if exchange.get("average", "gradients") != "gradients":
        problems.append(f"exchange.average is {exchange['average']}; use gradients")
    if schedule.get("linear_scaling"):
        problems.append("schedule.linear_scaling makes the rate depend on the workers; remove it")
    if augmentation.get("instances", 1) > 1:
        problems.append(f"augmentation.instances is {augmentation['instances']}; use 1")
    return problems


def model_difference(model: str) -> str:
    """Why a model learns otherwise from shares of a batch, as the end of a sentence; empty where it learns the same."""
    if model in _ALIKE_ON_ALL_RANKS:
        return ""
    if model in BATCH_NORMALISED:
        return "batch statistics change with the batch per worker"
    if model in MODELS:
        return "each worker drops out other parts of its layers"
    return "nobody knows how it learns from shares of a batch"
