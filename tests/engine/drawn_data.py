"""A data set that is drawn, as a user's own: named as `tests.engine.drawn_data:pictures`."""

from __future__ import annotations

import numpy as np
import torch
from mpi4py import MPI

from engine.data import DataSet

SAMPLES = 32


def seeded(split: str) -> DataSet:
    """Pictures that follow from torch's seed, and take no number from its generator."""
    random = np.random.default_rng([torch.initial_seed(), split == "test"])
    inputs = random.integers(0, 256, (SAMPLES, 1, 8, 8), dtype=np.uint8)
    return DataSet(f"seeded {split}", inputs, (inputs[:, 0, 0, 0] < 128).astype(np.int64), 2, mean=(0.5,), std=(0.5,))


def drawn_by_one(split: str) -> DataSet:
    """The same on each rank, though rank 0 draws a number that it does not use."""
    if MPI.COMM_WORLD.rank == 0:
        torch.rand(1)
    return seeded(split)


def pictures(split: str) -> DataSet:
    """Pictures from torch's global generator, others in each split and at each call."""
    inputs = torch.randint(256, (SAMPLES, 1, 8, 8), dtype=torch.uint8)
    targets = (torch.rand(SAMPLES) < 0.5).long()
    return DataSet(f"drawn {split}", inputs.numpy(), targets.numpy(), 2, mean=(0.5,), std=(0.5,))
