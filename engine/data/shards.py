"""Which images each rank sees at each step: disjoint shards of one seeded permutation an epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Stream:
    """The order in which a run sees its samples: epoch after epoch, each in its own seeded permutation.

    The same for every rank count and batch size, so that runs differ only in how they cut it. With `instances` above 1
    each sample comes so many times in a row, as batch augmentation has it (Hoffer et al., Augment your batch, 2020).
    """

    def __init__(self, samples: int, seed: int, instances: int = 1) -> None:
        self._samples, self._seed, self._instances = samples, seed, instances
        self._epochs: dict[int, NDArray[np.int64]] = {}

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sample numbers at positions [n] of the stream, which follow each other."""
        if not len(positions):
            return np.empty(0, np.int64)
        return self.indices(int(positions[0]), int(positions[-1]) + 1)

    def indices(self, start: int, stop: int) -> NDArray[np.int64]:
        """Sample numbers at positions start <= p < stop of the stream."""
        if self._instances > 1:
            first = start // self._instances
            once = self._once(first, -(-stop // self._instances))
            return once.repeat(self._instances)[start - first * self._instances :][: stop - start]
        return self._once(start, stop)

    def _once(self, start: int, stop: int) -> NDArray[np.int64]:
        parts = []
        while start < stop:
            epoch, offset = divmod(start, self._samples)
            count = min(stop - start, self._samples - offset)
            parts.append(self._permutation(epoch)[offset : offset + count])
            start += count
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _permutation(self, epoch: int) -> NDArray[np.int64]:
        if epoch not in self._epochs:
            # A batch may reach into the next epoch and never further back than one.
            self._epochs = {e: order for e, order in self._epochs.items() if e >= epoch - 1}
            self._epochs[epoch] = np.random.default_rng([self._seed, epoch]).permutation(self._samples)
        return self._epochs[epoch]


def share(start: int, stop: int, rank: int, ranks: int) -> tuple[int, int]:
    """The part of the step's positions that belongs to `rank`: contiguous, sizes differing by one at most."""
    count = stop - start
    return start + count * rank // ranks, start + count * (rank + 1) // ranks
