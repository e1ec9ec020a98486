"""Flips, shifts and Cutout in one pass against plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.cuda_ext.timing import against
from benchmarks.measure import Row
from cuda_ext import augmented, reference

BATCHES = (128, 512, 2048)
SETTINGS = {"flip and shift": (True, 2, 0), "flip, shift and Cutout": (True, 3, 8)}


def on_cpu(quick: bool, n: int) -> Iterator[Row]:
    """Microseconds by the clock, of a batch of the smallest size."""
    yield from _rows(BATCHES[:1], "cpu", n, quick=quick)


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """Microseconds in a graph."""
    yield from _rows(BATCHES, "cuda", n, quick=quick)


def _rows(batches: tuple[int, ...], device: str, n: int, *, quick: bool) -> Iterator[Row]:
    for batch in batches[:1] if quick else batches:
        for name, settings in SETTINGS.items():
            ours, theirs = _works(batch, settings, device)
            yield against(f"augmented {batch}x3x32x32, {name}, {device}", ours, "reference", theirs, n, device)


def _works(batch: int, settings: tuple[bool, int, int], device: str) -> tuple[Callable[[], object], ...]:
    pictures = torch.randn(batch, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)
    positions, start = torch.arange(batch, device=device), torch.tensor(1, device=device)
    return tuple(partial(way, pictures, positions, start, *settings) for way in (augmented, reference.augmented))
