"""The paper's parameter server: rank 0 gathers, averages, and distributes (sections 2 and 6)."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from torch.optim import Optimizer

from engine.flat import FlatParameters, host_rows
from engine.phases import Phases

SERVER = 0


class _ParameterServer:
    """What both kinds share: rank 0's weights for all, over host buffers, one message each way a step."""

    on_device = False

    def __init__(self, comm: MPI.Comm, flat: FlatParameters, optimizer: Optimizer, phases: Phases) -> None:
        self._comm, self._flat, self._optimizer, self._phases = comm, flat, optimizer, phases
        self._is_server = comm.rank == SERVER
        self._received = host_rows(comm.size, flat.host_weights) if self._is_server else None

    def start(self) -> None:
        """Give every rank the weights of rank 0."""
        self._flat.to_host("weights")
        self._broadcast()

    def warm_up(self) -> None:
        """Gather and broadcast once; the weights come back as they are."""
        self._flat.to_host("weights")
        self._comm.Gather(self._flat.host_weights, self._received, root=SERVER)
        self._broadcast()

    def _gather(self, name: str) -> None:
        with self._phases("gather"):
            self._flat.to_host(name)
            source = self._flat.host_weights if name == "weights" else self._flat.host_gradients
            self._comm.Gather(source, self._received, root=SERVER)

    def _average(self, name: str) -> None:
        """The mean of what was gathered, on rank 0 only, summed in the order of ranks."""
        with self._phases("average"):
            if self._received is not None:
                target = self._flat.host_weights if name == "weights" else self._flat.host_gradients
                np.mean(self._received, axis=0, out=target)

    def _update(self) -> None:
        with self._phases("update"):
            self._optimizer.step()

    def _broadcast(self) -> None:
        with self._phases("broadcast"):
            self._comm.Bcast(self._flat.host_weights, root=SERVER)
            self._flat.from_host("weights")


class GradientServer(_ParameterServer):
    """w = w - rate * mean of g_i (equation 2.1): rank 0 averages the gradients, applies them, sends the weights."""

    def step(self, combine: bool = True) -> None:  # noqa: ARG002 - gradients are combined at each step
        """Gather gradients, average and apply them on rank 0, broadcast the weights."""
        self._gather("gradients")
        self._average("gradients")
        if self._is_server:
            self._flat.from_host("gradients")
            self._update()
            self._flat.to_host("weights")
        self._broadcast()


class WeightServer(_ParameterServer):
    """w = mean of (w_i - rate * g_i) (equation 2.2): every rank applies its gradients, rank 0 averages the weights."""

    def step(self, combine: bool = True) -> None:
        """Apply the rank's own gradients, gather the weights, average them on rank 0, broadcast them."""
        self._update()
        if not combine:
            return
        self._gather("weights")
        self._average("weights")
        self._broadcast()
