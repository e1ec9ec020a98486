"""Gradients sent in buckets while those of earlier layers are still computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from engine.flat import FlatParameters

BUCKET_BYTES = 25 << 20


class Sent(Protocol):
    """A bucket on its way."""

    def poll(self) -> None:
        """Help it on, without waiting."""

    def wait(self) -> object:
        """Wait, or have the device's stream wait, until the bucket holds what it shall."""


Launch = Callable[[Tensor], Sent]
"""Begins to combine a part of the gradients [count] with the other ranks'."""


class Buckets:
    """Launches the buckets of a network's gradients as they are completed, each of about `size` bytes.

    The backward pass goes from the last parameter to the first, and so do the buckets. All ranks launch them in that
    order, whatever the order in which they are completed there. A step ends with `finish`, also on a rank that computed
    no gradients, which then sends what the buffer holds.
    """

    def __init__(self, flat: FlatParameters, launch: Launch, size: int = BUCKET_BYTES) -> None:
        self._launch = launch
        numbers = _grouped(flat, size)
        self._bucket_of = {number: bucket for bucket, members in enumerate(numbers) for number in members}
        self._counts = [len(members) for members in numbers]
        self._parts = [flat.gradients[flat.spans[n[-1]][0] : flat.spans[n[0]][1]] for n in numbers]
        self._begin()
        flat.watch(self._completed)

    def __len__(self) -> int:
        return len(self._parts)

    def finish(self) -> None:
        """Launch what is left, and wait for all."""
        while len(self._sent) < len(self._parts):
            self._launch_next()
        for sent in self._sent:
            sent.wait()
        self._begin()

    def _begin(self) -> None:
        self._missing = [*self._counts]
        self._sent: list[Sent] = []

    def _completed(self, number: int) -> None:
        self._missing[self._bucket_of[number]] -= 1
        for sent in self._sent:
            sent.poll()
        while len(self._sent) < len(self._parts) and not self._missing[len(self._sent)]:
            self._launch_next()

    def _launch_next(self) -> None:
        self._sent.append(self._launch(self._parts[len(self._sent)]))


def _grouped(flat: FlatParameters, size: int) -> Sequence[list[int]]:
    """The numbers of the parameters of each bucket, from the last to the first."""
    groups: list[list[int]] = []
    filled = size
    for number in reversed(range(len(flat.spans))):
        if filled >= size:
            groups.append([])
            filled = 0
        groups[-1].append(number)
        start, stop = flat.spans[number]
        filled += (stop - start) * flat.gradients.element_size()
    return groups
