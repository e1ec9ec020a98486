"""An exchange without training: a network that is nothing but its weights, and steps that do nothing but exchange."""

from __future__ import annotations

import torch
from mpi4py import MPI
from torch import nn

from engine.exchange import make_exchange
from engine.flat import FlatParameters
from engine.optimizer import Sgd
from engine.phases import Phases, timeline_of

_WARM_UP_STEPS = 3


class BareExchange:
    """`count` weights in float32 on a device, and the exchange of their gradients, warm. Collective over `comm`.

    `phases` has the seconds of each step's parts; `detailed` is `Phases`'. The weights begin as zeros.

    Raises:
        ExchangeError: NCCL is asked for, and ranks share a GPU or have none.
    """

    def __init__(
        self, comm: MPI.Comm, method: str, count: int, device: torch.device, *, rate: float, detailed: bool = False
    ) -> None:
        module = nn.Module()
        module.register_parameter("weights", nn.Parameter(torch.zeros(count, device=device)))
        self.comm, self.flat = comm, FlatParameters(module)
        self.phases = Phases(timeline_of(device), detailed=detailed)
        optimizer = Sgd(self.flat, momentum=False)
        optimizer.begin(0.0, 0.0)
        optimizer.set_rate(rate)
        self.exchange = make_exchange(method, "gradients", comm, self.flat, optimizer, self.phases, overlap="off")
        self.exchange.start()
        for _ in range(_WARM_UP_STEPS):
            self.exchange.step()
