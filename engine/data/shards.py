"""Which images each rank sees at each step: disjoint shards of one seeded permutation an epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Stream:
    """The order in which a run sees its samples: epoch after epoch, each in its own seeded permutation.

    The same for every rank count and batch size, so that runs differ only in how they cut it.
    """

    def __init__(self, samples: int, seed: int) -> None:
        self._samples, self._seed = samples, seed
        self._epochs: dict[int, NDArray[np.int64]] = {}

    def indices(self, start: int, stop: int) -> NDArray[np.int64]:
        """Sample numbers at positions start <= p < stop of the stream."""
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
