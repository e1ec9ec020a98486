"""The network on the test set: off the clock, over all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from mpi4py import MPI
from torch import nn

from engine.batches import Batches
from engine.checkpoint import copy_into
from engine.flat import FlatParameters
from engine.models import Task, correct
from engine.precision import casting
from engine.sample_groups import SampleGroup

_BATCH = 512


@dataclass(frozen=True)
class Quality:
    """Mean loss over the test set, and the share of it that is right."""

    loss: float
    accuracy: float


class Evaluator:
    """Evaluates a task on `samples` test samples, a share on each group of the ranks of `comm`."""

    def __init__(
        self,
        task: Task,
        batches: Batches,
        samples: int,
        comm: MPI.Comm,
        group: SampleGroup,
        device: torch.device,
        precision: str,
    ) -> None:
        self._task, self._batches, self._samples = task, batches, samples
        self._comm, self._group, self._device, self._precision = comm, group, device, precision

    def __call__(self) -> Quality:
        """Collective: the same on every rank. Weights, running means and random state stay as they are."""
        buffers = [*self._task.module.buffers()]
        kept = [buffer.clone() for buffer in buffers]
        if not self._group.shares_layers:  # their buffers are parts that belong together
            share_buffers(self._task.module, self._comm)
        modes = [(part, part.training) for part in self._task.module.modules()]
        self._task.module.eval()
        sums = torch.zeros(2, dtype=torch.float64, device=self._device)
        first, end = self._group.share(0, self._samples)
        with torch.no_grad():
            for start in range(first, end, _BATCH):
                inputs, targets = self._batches.get(np.arange(start, min(start + _BATCH, end)))
                with casting(self._precision, self._device):
                    outputs = self._task.module(inputs)
                    sums[0] += self._task.loss_sum(outputs, targets)
                sums[1] += correct(outputs, targets)
        for part, training in modes:
            part.training = training
        copy_into(buffers, kept)
        total = np.empty(2)
        self._comm.Allreduce(sums.cpu().numpy() if self._group.first else np.zeros(2), total)
        return Quality(float(total[0]) / self._samples, float(total[1]) / self._samples)


@contextmanager
def averaged(flat: FlatParameters, module: nn.Module, comm: MPI.Comm) -> Iterator[None]:
    """Do the block with the mean over all ranks of their weights, and of their running means; then all have their own.

    Collective.
    """
    tensors = [flat.weights, *(buffer for buffer in module.buffers() if buffer.is_floating_point())]
    own = [tensor.detach().clone() for tensor in tensors]
    for tensor in tensors:
        mean = tensor.detach().to("cpu", torch.float64)
        comm.Allreduce(MPI.IN_PLACE, mean.numpy())
        tensor.copy_(mean / comm.size)
    try:
        yield
    finally:
        copy_into(tensors, own)


def share_buffers(module: nn.Module, comm: MPI.Comm) -> None:
    """Give every rank rank 0's buffers, such as batch normalisation's running means. Collective."""
    if comm.size == 1:
        return
    for buffer in module.buffers():
        host = buffer.detach().cpu().contiguous().numpy()
        comm.Bcast(host, root=0)
        buffer.copy_(torch.from_numpy(host))
