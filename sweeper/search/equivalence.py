"""Trials of one curve: with averaged gradients, W workers of batch B learn step by step what one of W times B does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Models of which a rank's share of a batch is all that it needs: no statistics over the batch (batch normalisation),
# nothing drawn by rank (dropout).
_ALIKE_ON_ALL_RANKS = ("alexnet-cifar", "mlp", "neuron")


def curves_are_shared(config: Mapping[str, Any]) -> bool:
    """Whether a trial of this config has the curve, over steps, of all others of its global batch, rate and seed.

    Up to rounding: the exchange averages gradients, and neither the model nor the rate's schedule depends on how many
    ranks there are. Of commands and of models of the user's own nobody here knows.
    """
    exchange, schedule = config.get("exchange", {}), config.get("schedule", {})
    return (
        config.get("model") in _ALIKE_ON_ALL_RANKS
        and exchange.get("average", "gradients") == "gradients"
        and not schedule.get("linear_scaling", False)
    )
