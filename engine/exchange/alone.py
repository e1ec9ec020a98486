"""Ranks whose gradients are whole already: nothing to exchange."""

from __future__ import annotations

from engine.optimizer import Optimizer
from engine.phases import Phases


class Alone:
    """Applies this rank's gradients as they are: nothing is copied or sent.

    The exchange of a single rank by whatever method, and of ranks that share layers, which sum up their own gradients;
    `staging` says where these lie.
    """

    on_device = True
    overlapped = False

    def __init__(self, optimizer: Optimizer, phases: Phases, staging: str = "none") -> None:
        self._optimizer, self._phases, self.staging = optimizer, phases, staging

    def start(self) -> None:
        """See `Exchange.start`; the weights are there."""

    def warm_up(self) -> None:
        """See `Exchange.warm_up`; no message is to come."""

    def step(self, combine: bool = True) -> None:  # noqa: ARG002 - nothing is to be combined
        """Apply the gradients."""
        self._phases.enter("update")
        self._optimizer.step()
