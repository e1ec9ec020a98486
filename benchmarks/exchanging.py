"""A rank of the exchanges' benchmark: the first prints seconds as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from mpi4py import MPI

from benchmarks.bare_exchange import BareExchange

# Parameters in float32.
SIZES = {"alexnet-cifar, 0.47 MB": 118_666, "25 MB": 6_250_000}


def measure(steps: int, rounds: int, methods: list[str]) -> dict[str, dict[str, list[float]]]:
    """Seconds of each round's mean step, by size and method, and of a message between two ranks as "message"."""
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    found: dict[str, dict[str, list[float]]] = {}
    for size, count in SIZES.items():
        timed: dict[str, Callable[[int], float]] = {"message": _messages(comm, count)}
        for method in methods:
            timed[method] = _steps(comm, method, count)
        found[size] = {name: [] for name in timed}
        for _ in range(rounds):
            for name, run in timed.items():
                found[size][name].append(run(steps))
    return found


def _steps(comm: MPI.Comm, method: str, count: int) -> Callable[[int], float]:
    """Seconds of a step that does nothing but exchange."""
    bare = BareExchange(comm, method, count, torch.device("cpu"), rate=0.1)
    phases = bare.phases

    def run(steps: int) -> float:
        comm.Barrier()
        phases.clear()
        phases.start("exchange")
        begun = time.perf_counter()
        for _ in range(steps):
            bare.exchange.step()
        comm.Barrier()
        took = time.perf_counter() - begun
        phases.stop()
        return (took - phases.totals.get("update", 0.0)) / steps

    return run


def _messages(comm: MPI.Comm, count: int) -> Callable[[int], float]:
    """Seconds of one message from one rank to another and none beside, on rank 0."""
    # Written once: memory that never was is the one page of zeros, and read from the cache.
    going, coming = np.ones(count, np.float32), np.ones(count, np.float32)

    def run(messages: int) -> float:
        comm.Barrier()
        begun = time.perf_counter()
        for _ in range(messages if comm.rank < 2 else 0):
            if comm.rank == 0:
                comm.Send(going, 1)
            comm.Recv(coming, 1 - comm.rank)
            if comm.rank == 1:
                comm.Send(going, 0)
        seconds = (time.perf_counter() - begun) / (2 * messages)
        _wait_asleep(comm)
        return seconds

    return run


def _wait_asleep(comm: MPI.Comm) -> None:
    """A barrier whose waiting takes no core from the ranks that are measured."""
    arrived = comm.Ibarrier()
    while not arrived.Test():
        time.sleep(0.001)


def main() -> None:
    """Measure, and let rank 0 tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    given = parser.parse_args()
    found = measure(given.steps, given.rounds, given.methods)
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
