"""Steps on a GPU as a CUDA graph: the host only says "again", and nothing waits before the next loss point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Body = Callable[[Tensor, bool], None]
Positions = Callable[[int], NDArray[np.int64]]
_WARM_UP_STEPS = 3  # libraries choose kernels and allocate on the first ones
_LISTED = 1 << 20  # sample numbers that lie ready on the GPU: 8 MiB


class CapturedSteps:
    """Full steps of a rank, each the same kernels over the next samples.

    `body(indices, combine)` queues a step over the samples `indices` [local] and must not wait for the GPU.
    `positions(step)` are the numbers of a step's samples. `state` is every tensor that steps change besides what they
    compute anew: warming up takes real steps, and puts these back.
    """

    def __init__(
        self, body: Body, positions: Positions, local: int, device: torch.device, state: Sequence[Tensor]
    ) -> None:
        self._body, self._positions, self._state, self._device = body, positions, state, device
        self._rows = max(1, _LISTED // local)
        self._listed = torch.zeros((self._rows, local), dtype=torch.int64, device=device)
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        self._graphs: dict[bool, torch.cuda.CUDAGraph] = {}

    def capture(self, steps: int, combines: Sequence[bool]) -> None:
        """Warm up on the first samples, then record a graph for steps that combine, or do not, as named."""
        kept = [tensor.clone() for tensor in self._state]
        self._list(0, min(steps, _WARM_UP_STEPS))
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(side):
            for combine in combines:
                for _ in range(_WARM_UP_STEPS):
                    self._next.zero_()
                    self._step(combine)
        torch.cuda.current_stream(self._device).wait_stream(side)
        for combine in combines:
            graph = torch.cuda.CUDAGraph()
            # Other threads, such as NCCL's watchdog, may ask the driver something meanwhile.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._step(combine)
            self._graphs[combine] = graph
        for tensor, before in zip(self._state, kept, strict=True):
            tensor.copy_(before)

    def run(self, step: int, steps: int, combine: bool) -> None:
        """Queue step number `step` of `steps`; they are run in their order, from 0."""
        if step % self._rows == 0:
            self._list(step, min(steps, step + self._rows))
        self._graphs[combine].replay()

    def _step(self, combine: bool) -> None:
        indices = self._listed.index_select(0, self._next).view(-1)
        self._next.add_(1)
        self._body(indices, combine)

    def _list(self, first: int, end: int) -> None:
        numbers = np.stack([self._positions(step) for step in range(first, end)])
        self._listed[: end - first].copy_(torch.from_numpy(numbers))
        self._next.zero_()
