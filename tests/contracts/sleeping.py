"""A network that falls asleep in training, on the last rank only."""

from __future__ import annotations

import time

from mpi4py import MPI
from torch import Tensor, nn

_STEPS_AWAKE = 5


class Network(nn.Module):
    """One neuron that stops for ever after some steps."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(shape[0], classes)
        self.steps = 0

    def forward(self, numbers: Tensor) -> Tensor:
        """The neuron's output [n, classes]."""
        self.steps += 1
        if self.steps > _STEPS_AWAKE and MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1:
            time.sleep(3600)
        outputs: Tensor = self.linear(numbers)
        return outputs
