"""The contract of an exchange."""

from __future__ import annotations

from typing import Protocol

from engine.errors import ClearError


class ExchangeError(ClearError):
    """The asked-for exchange cannot be had with these ranks on these devices."""

    kind = "exchange"


class Exchange(Protocol):
    """How ranks combine what they learned.

    One object a rank, made of a communicator, the flat parameters, and an optimiser over them. All methods are
    collective: every rank calls them in the same order, and an error in one rank must end the job, since the others
    wait. After `start` and after each `step` that combines, the weights are the same on every rank, to the last bit. A
    step that does not combine, which averaging weights allows, only applies the rank's own gradients. `step` expects in
    the flat gradients this rank's part of the step, scaled so that the mean over ranks is the gradient of the mean
    loss; for any rank count and any split of the images its result equals single-process training on the same global
    batch within rounding. Where weights are averaged `start` may be left out, and each rank begin with weights of its
    own: the weights are then the same on every rank from the first step that combines, which replaces them by their
    mean, and from there a step is as said. Values that are not finite pass through like any others. Phases are timed by
    the exchange.

    An exchange that is `overlapped` sends gradients already while `FlatParameters.compute_gradients` runs: each such
    call must be followed by `step` or `warm_up`, and the buffer be left alone between the two. A rank without a part in
    a step zeroes the buffer instead of the call.
    """

    on_device: bool  # whether `step` does nothing but queue work on the GPU's stream: then a CUDA graph can hold it
    overlapped: bool  # whether gradients are sent while others are computed
    staging: str  # where messages lie: "direct" in the device's memory, "host" in the host's

    def start(self) -> None:
        """Give every rank the weights of rank 0."""

    def warm_up(self) -> None:
        """Move messages of the later sizes, so that connections and buffers exist; changes no weights."""

    def step(self, combine: bool = True) -> None:
        """Combine the gradients of one step and update the weights everywhere."""
