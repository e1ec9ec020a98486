"""Samples of a data set as a network's input: put together on the CPU, or kept on the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.data import DataSet

Batch = tuple[Tensor, Tensor]  # inputs float32 [n, ...], pictures normalised; targets [n]
_SHARE_OF_FREE_MEMORY = 4  # what a data set kept in float32 may take of a GPU's free memory: one part of so many


class Batches(Protocol):
    """Batches of samples by their numbers."""

    def get(self, indices: NDArray[np.int64]) -> Batch:
        """Inputs and targets of these samples."""


@dataclass(frozen=True)
class Loaded:
    """A data set and its batches; `lasting` if loading it again, for the same seed, would give the same."""

    data: DataSet
    batches: Batches
    lasting: bool = True


class HostBatches:
    """On the CPU: pictures are normalised batch by batch, channels last in memory."""

    def __init__(self, data: DataSet) -> None:
        self._inputs, self._targets = data.inputs, data.targets
        self._normalise = _Normalise(data, torch.device("cpu")) if data.std else None

    def get(self, indices: NDArray[np.int64]) -> Batch:
        """Inputs and targets of these samples."""
        inputs, targets = torch.from_numpy(self._inputs[indices]), torch.from_numpy(self._targets[indices])
        if self._normalise is None:
            return inputs, targets
        return self._normalise(inputs.to(torch.float32, memory_format=torch.channels_last)), targets


class ResidentBatches:
    """On a GPU: all samples are there, normalised once where they fit in float32, and batch by batch otherwise.

    Pictures lie channels last in memory.
    """

    def __init__(self, data: DataSet, device: torch.device) -> None:
        self._device = device
        # Copied, since torch warns of tensors on arrays that may not be written to.
        self._inputs = torch.tensor(data.inputs, device=device)
        if data.std:
            self._inputs = self._inputs.to(memory_format=torch.channels_last)  # there: a core would take 0.3 s for it
        self._targets = torch.tensor(data.targets, device=device)
        self._normalise = _Normalise(data, device) if data.std else None
        bytes_as_float = self._inputs.numel() * torch.float32.itemsize
        if self._normalise and bytes_as_float <= torch.cuda.mem_get_info(device)[0] // _SHARE_OF_FREE_MEMORY:
            self._inputs = self._normalise(self._inputs.float())
            self._normalise = None

    def get(self, indices: NDArray[np.int64]) -> Batch:
        """Inputs and targets of these samples."""
        return self.select(torch.from_numpy(indices).to(self._device))

    def select(self, indices: Tensor) -> Batch:
        """The same for numbers [n] that are on the GPU already; waits for nothing."""
        inputs, targets = _rows(self._inputs, indices), self._targets[indices]
        return (self._normalise(inputs.float()) if self._normalise else inputs), targets


class _Normalise:
    def __init__(self, data: DataSet, device: torch.device) -> None:
        shift = [m / s for m, s in zip(data.mean, data.std, strict=True)]
        self._scale = torch.tensor([1 / (255 * s) for s in data.std], device=device).view(1, -1, 1, 1)
        self._shift = torch.tensor(shift, device=device).view(1, -1, 1, 1)

    def __call__(self, pictures: Tensor) -> Tensor:
        return pictures.mul_(self._scale).sub_(self._shift)


def _rows(inputs: Tensor, indices: Tensor) -> Tensor:
    """inputs[indices], laid out as `inputs` is."""
    if inputs.dim() != 4 or inputs.is_contiguous():
        return inputs[indices]
    return inputs.permute(0, 2, 3, 1)[indices].permute(0, 3, 1, 2)
