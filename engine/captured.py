"""Steps on a GPU as a CUDA graph: the host only says "again", and nothing waits before the next loss point."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.phases import COMPUTE, Phases

Body = Callable[[Tensor, Tensor, bool], None]
Listed = Callable[[int, int], NDArray[np.int64]]
Pool = Any  # of torch.cuda.graph_pool_handle
_Part = tuple[str, torch.cuda.CUDAGraph]  # with its phase
_WARM_UP_STEPS = 3  # libraries choose kernels and allocate on the first ones
_LISTED = 1 << 20  # samples whose numbers lie ready on the GPU, in 16 MiB


class CapturedSteps:
    """Full steps of a rank, each the same kernels over the next samples.

    `body(samples, positions, combine)` queues a step over the samples of these numbers [local], at these positions
    [local] of the run's stream, and must not wait for the GPU. `begin` says by `listed(first, end)` which these are for
    each of these steps, [end - first, 2, local]. `state` is every tensor that steps change besides what they compute
    anew: warming up takes real steps, and puts these back. `memory` is a pool that other recorded steps may have, too:
    only one runs at a time, and none leaves anything there.

    A step is one graph, or where the body enters several of `phases` one graph for each, so that events between them
    tell their times: an event inside a graph has only the time of the last replay.
    """

    def __init__(
        self,
        body: Body,
        local: int,
        device: torch.device,
        state: Sequence[Tensor],
        phases: Phases,
        memory: Pool | None = None,
    ) -> None:
        self._body, self._state, self._device = body, state, device
        self._phases, self._memory = phases, memory
        self._rows = max(1, _LISTED // local)
        self._listed = torch.zeros((self._rows, 2, local), dtype=torch.int64, device=device)
        self._following = self._end = 0  # the next step to be run, and that which is listed no more
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        self._parts: dict[bool, list[_Part]] = {}

    def begin(self, listed: Listed) -> None:
        """Take the samples of another run from now on."""
        self._numbers = listed
        self._following = self._end = 0

    def capture(self, combines: Sequence[bool]) -> None:
        """Warm up on the first step's samples, then record a graph for steps that combine, or do not, as named."""
        kept = [tensor.clone() for tensor in self._state]
        self._list(0, 1)
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(side):
            for combine in combines:
                for _ in range(_WARM_UP_STEPS):
                    self._next.zero_()
                    self._step(combine)
        torch.cuda.current_stream(self._device).wait_stream(side)
        for combine in combines:
            self._parts[combine] = self._recorded(combine)
        for tensor, before in zip(self._state, kept, strict=True):
            tensor.copy_(before)
        self._end = 0

    def run(self, step: int, steps: int, combine: bool) -> None:
        """Queue step number `step` of `steps`; one after another, from any."""
        self._phases.enter(COMPUTE)
        if step != self._following or step >= self._end:
            self._list(step, min(steps, step + self._rows))
        for phase, graph in self._parts[combine]:
            self._phases.enter(phase)
            graph.replay()
        self._following = step + 1

    def _recorded(self, combine: bool) -> list[_Part]:
        """A step in parts, one for each phase that it enters."""
        parts: list[_Part] = []
        with _nothing_freed(), ExitStack() as recording:

            def cut(phase: str) -> None:
                if parts and parts[-1][0] == phase:
                    return
                recording.close()
                graph = torch.cuda.CUDAGraph()
                memory = parts[0][1].pool() if parts else self._memory  # parts follow each other and may share it
                # Other threads, such as NCCL's watchdog, may ask the driver something meanwhile.
                recording.enter_context(torch.cuda.graph(graph, memory, capture_error_mode="thread_local"))
                parts.append((phase, graph))

            with self._phases.diverted(cut):
                self._phases.enter(COMPUTE)
                self._step(combine)
        return parts

    def _step(self, combine: bool) -> None:
        samples, positions = self._listed.index_select(0, self._next).view(2, -1)
        self._next.add_(1)
        self._body(samples, positions, combine)

    def _list(self, first: int, end: int) -> None:
        self._listed[: end - first].copy_(torch.from_numpy(self._numbers(first, end)))
        self._next.zero_()
        self._following, self._end = first, end


@contextmanager
def _nothing_freed() -> Iterator[None]:
    """No collection of garbage meanwhile: an earlier trial's graph that was freed then would spoil the recording."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
