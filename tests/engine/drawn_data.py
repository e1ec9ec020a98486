"""A data set that is drawn, as a user's own: named as `tests.engine.drawn_data:pictures`."""

from __future__ import annotations

import torch

from engine.data import DataSet

SAMPLES = 32


def pictures(split: str) -> DataSet:
    """Pictures from torch's global generator, others in each split and at each call."""
    inputs = torch.randint(256, (SAMPLES, 1, 8, 8), dtype=torch.uint8)
    targets = (torch.rand(SAMPLES) < 0.5).long()
    return DataSet(f"drawn {split}", inputs.numpy(), targets.numpy(), 2, mean=(0.5,), std=(0.5,))
