"""In-place shifts against copies and `F.pad`: bytes read plus written, and times in a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.cuda_ext.timing import against, captured, clocked, hardware_of_gpu, used_versions
from benchmarks.measure import Row, compare, versions
from cuda_ext import shift_left_, shift_right_

LARGE = [(16384, 8192), (8192, 65535), (1 << 20, 64), (65536, 1000)]
SMALL = [(128, 576), (128, 4096), (512, 576), (1024, 1024), (4096, 576), (2048, 2048), (4096, 4096)]
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def on_cpu(quick: bool, n: int) -> Iterator[Row]:
    """Bandwidth of the in-place shifts and of Tensor.copy_, GB/s."""
    shapes = [(4096, 1024)] if quick else [(16384, 2048), (2048, 16384), (1 << 18, 64), (1 << 20, 24)]
    for rows, cols in shapes:
        yield from large_on_cpu(rows, cols, n)


def large_on_cpu(rows: int, cols: int, n: int) -> Iterator[Row]:
    """Both shifts of a float32 matrix of this shape against Tensor.copy_, GB/s."""
    storage = torch.randn(rows * (cols + 1))
    target = torch.empty(rows * cols)
    copy = partial(target.copy_, storage[: rows * cols])
    moved = 2 * rows * cols * storage.element_size()
    for name, shift in _shifts(storage, rows, cols).items():
        yield compare(
            f"{name} {rows}x{cols} float32, CPU, {torch.get_num_threads()} threads",
            "GB/s",
            partial(_rate, clocked(shift), moved),
            "Tensor.copy_",
            partial(_rate, clocked(copy), moved),
            n,
            versions("torch"),
        )


def _shifts(storage: Tensor, rows: int, cols: int, algorithm: str = "single-pass") -> dict[str, Callable[[], None]]:
    return {
        "shift_right_": partial(shift_right_, storage, rows, cols, algorithm=algorithm),
        "shift_left_": partial(shift_left_, storage, rows, cols, algorithm=algorithm),
    }


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """Large matrices by bandwidth against a device copy and by time against F.pad; small ones by time."""
    for kind, dtype in TYPES.items():
        for rows, cols in LARGE[:1] if quick else LARGE:
            cols = cols * 4 // dtype.itemsize if rows * cols * dtype.itemsize < 1 << 28 else cols
            yield from large(rows, cols, kind, n)
            yield from against_pad(rows, cols, kind, n)
        for rows, cols in SMALL[:2] if quick else SMALL:
            yield from against_pad(rows, cols, kind, n)
    yield from against_paper(4096, 4096, n)


def large(rows: int, cols: int, kind: str, n: int) -> Iterator[Row]:
    """Both shifts on a GPU against a device copy, GB/s."""
    dtype = TYPES[kind]
    storage = torch.randn(rows * (cols + 1), device="cuda").to(dtype)
    target = torch.empty(rows * cols, device="cuda", dtype=dtype)
    copied = 2 * rows * cols * dtype.itemsize
    copy = captured(partial(target.copy_, storage[: rows * cols]))
    for name, shift in _shifts(storage, rows, cols).items():
        # A growing matrix is read and written with its new column, a shrinking one read without its old.
        moved = copied + (rows * dtype.itemsize if name == "shift_right_" else 0)
        timed = captured(shift)
        row = compare(
            f"{name} {rows}x{cols} {kind}",
            "GB/s",
            partial(_rate, timed, moved),
            "device copy",
            partial(_rate, copy, copied),
            n,
            used_versions(),
        )
        yield Row(**{**vars(row), "hardware": hardware_of_gpu()})


def _rate(timed: Callable[[], float], moved: int) -> float:
    return moved / timed() / 1e3


def against_pad(rows: int, cols: int, kind: str, n: int, device: str = "cuda") -> Iterator[Row]:
    """Both shifts against `F.pad` into another matrix, microseconds."""
    storage = torch.randn(rows * (cols + 1), device=device).to(TYPES[kind])
    matrix = storage[: rows * cols].view(rows, cols).clone()
    for name, shift in _shifts(storage, rows, cols).items():
        pad = partial(F.pad, matrix, (1, 0), value=1.0)
        yield against(f"{name} {rows}x{cols} {kind}{_where(device)}", shift, "F.pad out of place", pad, n, device)


def against_paper(rows: int, cols: int, n: int, device: str = "cuda") -> Iterator[Row]:
    """Both shifts of a float32 matrix against the paper's algorithm, microseconds; rows <= cols + 1."""
    storage = torch.randn(rows * (cols + 1), device=device)
    papers = _shifts(storage, rows, cols, algorithm="paper")
    for name, shift in _shifts(storage, rows, cols).items():
        row = f"{name} {rows}x{cols} float32{_where(device)}"
        yield against(row, shift, "the paper's algorithm", papers[name], n, device)


def _where(device: str) -> str:
    return ", graph" if device == "cuda" else f", CPU, {torch.get_num_threads()} threads"
