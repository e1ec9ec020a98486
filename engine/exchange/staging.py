"""Where messages lie that MPI sends and receives: in the host's memory, or on the GPU where the MPI reads that."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch
from mpi4py import MPI
from torch import Tensor

from engine.flat import FlatParameters

_MPIX_GPU_SUPPORT_CUDA = 0  # of MPICH's mpi.h


class Staging:
    """Hands weights and gradients to MPI and takes them back.

    "direct": MPI is given the device's own buffers. "host": it is given the host's, which on a GPU are copies.
    `direct` says which; None chooses direct where the weights are on a GPU and the MPI is CUDA-aware.
    """

    def __init__(self, flat: FlatParameters, direct: bool | None = None) -> None:
        self._flat = flat
        self._on_gpu = flat.weights.device.type == "cuda"
        self._direct = self._on_gpu and cuda_aware() if direct is None else direct
        self.name = "direct" if self._direct else "host"

    def buffer(self, name: str) -> Tensor:
        """The memory of "weights" or "gradients" [count] that messages are sent from and received in."""
        return self._flat.on_device(name) if self._direct else self._flat.on_host(name)

    def take(self, name: str) -> Tensor:
        """The same, with what the device has computed, ready for MPI."""
        if not self._direct:
            self._flat.to_host(name)
        self.settle()
        return self.buffer(name)

    def give(self, name: str) -> None:
        """What lies in `buffer(name)` becomes the device's."""
        if not self._direct:
            self._flat.from_host(name)

    def settle(self) -> None:
        """Wait until the device has written and read the messages: MPI knows nothing of its stream."""
        if self._direct and self._on_gpu:
            torch.cuda.current_stream(self._flat.weights.device).synchronize()

    def message(self, tensor: Tensor) -> Any:
        """What mpi4py is handed for a part of `buffer`, or a tensor like it: an array, or the tensor itself."""
        return tensor if self._direct else tensor.numpy()


@functools.cache
def cuda_aware() -> bool:
    """Whether the MPI of this process says that it sends from and receives in a GPU's memory.

    Open MPI says so by MPIX_Query_cuda_support, which MPICH has as well; older MPICHs only by MPIX_GPU_query_support.
    """
    library = ctypes.CDLL(MPI.__file__)  # finds what mpi4py was linked with, whichever MPI that is
    if hasattr(library, "MPIX_Query_cuda_support"):
        return bool(library.MPIX_Query_cuda_support())
    if hasattr(library, "MPIX_GPU_query_support"):
        supported = ctypes.c_int(0)
        failed = library.MPIX_GPU_query_support(_MPIX_GPU_SUPPORT_CUDA, ctypes.byref(supported))
        return not failed and bool(supported.value)
    return False
