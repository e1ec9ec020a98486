"""A rank of report 7's dummy steps, which exchange random gradients of the network's size; the first prints JSON."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import torch
from mpi4py import MPI

from benchmarks.bare_exchange import BareExchange
from engine.device import choose_device, describe
from engine.models import make_network
from engine.phases import COMPUTE

_RATE = 0.4  # report 7's


def measure(wanted: str, methods: list[str], steps: int, rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each method: median seconds a step of each phase on rank 0 over so many rounds, and all of them."""
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    device = choose_device(wanted, comm)
    network = make_network("alexnet-cifar", (3, 32, 32), 10)
    count = sum(parameter.numel() for parameter in network.parameters())
    for method in methods:
        bare = BareExchange(comm, method, count, device, rate=_RATE, detailed=True)
        found = [_round(bare, steps) for _ in range(rounds)]
        yield {
            "method": method,
            "workers": comm.size,
            "parameters": count,
            "seconds": {name: statistics.median(one.get(name, 0.0) for one in found) for name in found[0]},
            "rounds": [{name: round(seconds, 9) for name, seconds in one.items()} for one in found],
            "steps": steps,
            "messages": bare.exchange.staging,
            "device": describe(device)["device_name"],
        }


def _round(bare: BareExchange, steps: int) -> dict[str, float]:
    """Seconds of each phase of a step, as the mean over `steps` steps."""
    bare.comm.Barrier()
    bare.phases.clear()
    bare.phases.start(COMPUTE)
    for _ in range(steps):
        bare.phases.enter(COMPUTE)
        bare.flat.gradients.normal_()
        bare.exchange.step()
    bare.phases.stop()
    return {name: seconds / steps for name, seconds in bare.phases.totals.items()}


def main() -> None:
    """Measure, and let rank 0 tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    given = parser.parse_args()
    rows = list(measure(given.device, given.methods, given.steps, given.rounds))
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
