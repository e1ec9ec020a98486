"""What a data set is: arrays in memory, and how its numbers become a network's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DataSet:
    """Samples and what to learn of them.

    `inputs` are uint8 pictures [n, channels, height, width], or float32 numbers [n, features]; `targets` int64 classes
    [n], or float32 values [n, 1]. A picture's pixel p becomes (p / 255 - mean) / std, by channel.
    """

    name: str
    inputs: NDArray[Any]
    targets: NDArray[Any]
    classes: int
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def numbers(self) -> bool:
        """Whether targets are numbers to come close to, not classes."""
        return bool(np.issubdtype(self.targets.dtype, np.floating))

    @property
    def pictures(self) -> bool:
        """Whether samples are pictures, not plain numbers."""
        return self.inputs.ndim == 4

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample, (channels, height, width) for a picture."""
        return tuple(self.inputs.shape[1:])


Arrays = tuple[NDArray[np.uint8], NDArray[np.int64]]  # pictures [n, c, h, w] and their classes [n]


def checked(arrays: Arrays, shape: tuple[int, ...], classes: int) -> Arrays:
    """Pictures of one `shape` and as many classes, at least one of each.

    Raises:
        ValueError: files can be read and still hold something else.
    """
    pictures, targets = arrays
    if not len(targets) or pictures.shape != (len(targets), *shape) or targets.ndim != 1:
        found = f"{list(pictures.shape)} pictures of {list(targets.shape)} classes"
        raise ValueError(f"{found} instead of {[len(targets), *shape]} of {[len(targets)]}, at least one")
    if targets.min() < 0 or targets.max() >= classes:
        raise ValueError(f"classes from {targets.min()} to {targets.max()} instead of 0 to {classes - 1}")
    return arrays
