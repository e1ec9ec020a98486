"""Waiting for the slowest rank, told apart from the exchange that follows."""

from __future__ import annotations

import torch
from mpi4py import MPI

from engine.phases import WAIT, Phases


class Meeting:
    """Ranks meet before they exchange, where phases are detailed: the time until the last one comes is `wait`.

    Without it a rank that is early waits inside the exchange, and the exchange looks as slow as the slowest rank.
    """

    def __init__(self, comm: MPI.Comm, device: torch.device, phases: Phases) -> None:
        self._comm, self._device, self._phases = comm, device, phases
        self._meets = phases.detailed and comm.size > 1

    def __call__(self) -> None:
        """Be here when the device is done and all ranks are. Collective."""
        if not self._meets:
            return
        self._phases.enter(WAIT)
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()
        self._comm.Barrier()
