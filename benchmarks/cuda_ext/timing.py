"""Times of work: on a GPU captured in a CUDA graph, so that what is timed is the device and not Python."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial

import torch

from benchmarks.measure import Row, compare, versions

_WARM_UP = 3
_PER_GRAPH_US = 300.0  # short work is repeated within a graph until it takes about this long


def hardware_of_gpu() -> str:
    """The GPU's name and its driver."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", f"--id={torch.cuda.current_device()}"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    return f"{torch.cuda.get_device_name()}, driver {driver}"


def used_versions() -> dict[str, str]:
    """Of Python, torch and its CUDA."""
    return {**versions("torch"), "cuda": str(torch.version.cuda)}


def captured(work: Callable[[], object]) -> Callable[[], float]:
    """A function that replays `work` and gives its time in microseconds."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            work()
    torch.cuda.synchronize()
    once = _graph(work, 1)
    _replay_us(once, 1)
    repeats = max(1, min(50, round(_PER_GRAPH_US / _replay_us(once, 1))))
    graph = once if repeats == 1 else _graph(work, repeats)
    _replay_us(graph, repeats)
    return partial(_replay_us, graph, repeats)


def _graph(work: Callable[[], object], repeats: int) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            work()
    return graph


def _replay_us(graph: torch.cuda.CUDAGraph, repeats: int) -> float:
    begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begun.record()
    graph.replay()
    ended.record()
    ended.synchronize()
    return float(begun.elapsed_time(ended)) * 1e3 / repeats


def against(
    name: str, ours: Callable[[], object], baseline: str, theirs: Callable[[], object], n: int, device: str = "cuda"
) -> Row:
    """Microseconds of both, in turn, on a GPU in a graph; `ratio` is ours over theirs."""
    if device == "cpu":
        return compare(name, "us", clocked(ours), baseline, clocked(theirs), n, versions("torch"))
    row = compare(name, "us", captured(ours), baseline, captured(theirs), n, used_versions())
    return Row(**{**vars(row), "hardware": hardware_of_gpu()})


def clocked(work: Callable[[], object]) -> Callable[[], float]:
    """A function that does `work` on the CPU and gives its microseconds: once unclocked, then the best of three.

    Others use a CPU, too, and what they take is not the work's.
    """

    def timed() -> float:
        work()
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
        return min(times) * 1e6

    return timed
