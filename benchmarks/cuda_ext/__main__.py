"""`python -m benchmarks.cuda_ext`: on the CPU always, on the GPU where there is one."""

from __future__ import annotations

from itertools import chain

import torch

from benchmarks.cuda_ext import augmenting, dense, pooling, realignment
from benchmarks.measure import arguments, report


def main() -> None:
    """Measure, show, write."""
    given = arguments("The compiled operators.")
    n = 3 if given.quick else 11
    parts = [realignment.on_cpu, pooling.on_cpu, augmenting.on_cpu]
    if torch.cuda.is_available():
        parts += [realignment.on_gpu, dense.on_gpu, pooling.on_gpu, augmenting.on_gpu]
    report(chain.from_iterable(part(given.quick, n) for part in parts), given.json)


if __name__ == "__main__":
    main()
