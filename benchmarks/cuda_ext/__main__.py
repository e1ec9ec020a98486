"""`python -m benchmarks.cuda_ext`: on the CPU always, on the GPU where there is one."""

from __future__ import annotations

import torch

from benchmarks.cuda_ext import dense, pooling, realignment
from benchmarks.measure import arguments, report


def main() -> None:
    """Measure, show, write."""
    given = arguments("The compiled operators.")
    n = 3 if given.quick else 11
    rows = [*realignment.on_cpu(given.quick, n), *pooling.on_cpu(given.quick, n)]
    if torch.cuda.is_available():
        rows += realignment.on_gpu(given.quick, n)
        rows += dense.on_gpu(given.quick, n)
        rows += pooling.on_gpu(given.quick, n)
    report(rows, given.json)


if __name__ == "__main__":
    main()
