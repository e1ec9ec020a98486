"""What the study measures: rows of the operators' benchmark, by question, on the CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from benchmarks.measure import Row
from experiments.machine import gpus_for
from experiments.study import Study

PARTS = ("cpu", "gpu")
BANDWIDTH, PAD, PAPER, LAYER, CLASSIFIER = "bandwidth", "pad", "paper", "layer", "classifier"
_RUNS = 7
_RUNS_ON_CPU = 15
_BATCHES = (16, 64, 128, 512)
_SIDES = (512, 1024, 2048, 4096)  # of square matrices, which are drawn


def run(study: Study) -> None:
    """Measure the parts that are asked for and not recorded.

    Raises:
        UsageError: the part `gpu` alone is asked for, and cannot be measured.
    """
    if study.wants("cpu") and not study.measured("cpu"):
        with _one_core():
            study.record("cpu", list(on_cpu(quick=study.quick)))
    if gpus_for(study) and not study.measured("gpu"):
        study.record("gpu", list(on_gpu()))


@contextmanager
def _one_core() -> Iterator[None]:
    """torch computes on one core within: of several, each would wait for the one that somebody else uses."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_cpu(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of all questions on one core, over matrices in and beyond the caches and layers of the paper's network."""
    from benchmarks.cuda_ext import dense, realignment

    n = 3 if quick else _RUNS_ON_CPU
    for rows, cols in ((512, 256),) if quick else ((16384, 2048), (2048, 16384), (1 << 18, 64)):
        yield from _rows(BANDWIDTH, "float32", (rows, cols), realignment.large_on_cpu(rows, cols, n))
    for side in (128,) if quick else _SIDES:
        yield from _rows(PAD, "float32", (side, side), realignment.against_pad(side, side, "float32", n, "cpu"))
        yield from _rows(PAPER, "float32", (side, side), realignment.against_paper(side, side, n, "cpu"))
    for shape in ((64, 64, 32),) if quick else ((128, 576, 64), (512, 1024, 1024)):
        layers = dense.layer(*shape, "float32", n, (dense.PRODUCTS, dense.EAGER), "cpu")
        yield from _rows(LAYER, "float32", shape, layers)
    for batch in (16,) if quick else _BATCHES:
        yield from _rows(CLASSIFIER, "float32", (batch,), dense.classifier(batch, "float32", n, "cpu"))


def on_gpu() -> Iterator[dict[str, Any]]:
    """The same on a GPU in CUDA graphs, with large layers against the peak of its tensor cores."""
    from benchmarks.cuda_ext import dense, realignment

    for kind, cols in (("float32", (8192, 64)), ("bfloat16", (16384, 128))):
        for shape in ((16384, cols[0]), (1 << 20, cols[1])):
            yield from _rows(BANDWIDTH, kind, shape, realignment.large(*shape, kind, _RUNS))
        for shape in ((128, 576), *((side, side) for side in _SIDES), (16384, cols[0])):
            yield from _rows(PAD, kind, shape, realignment.against_pad(*shape, kind, _RUNS))
    for side in _SIDES:
        yield from _rows(PAPER, "float32", (side, side), realignment.against_paper(side, side, _RUNS))
    with dense.tf32():
        for kind in dense.TYPES:
            large, small = (4096, 4096, 4096), (128, 576, 64)
            yield from _rows(LAYER, kind, large, dense.layer(*large, kind, _RUNS, (dense.PRODUCTS, dense.EAGER)))
            yield from _rows(LAYER, kind, small, dense.layer(*small, kind, _RUNS, (dense.EAGER, dense.COMPILED)))
            for batch in _BATCHES:
                yield from _rows(CLASSIFIER, kind, (batch,), dense.classifier(batch, kind, _RUNS))


def _rows(question: str, kind: str, shape: tuple[int, ...], found: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for row in found:
        yield {"question": question, "type": kind, "shape": shape, **asdict(row)}
