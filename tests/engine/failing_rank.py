"""A gang's rank that goes wrong in the middle of an exchange: `python -m tests.engine.failing_rank HOW`, on rank 1."""

from __future__ import annotations

import os
import signal
import sys

from mpi4py import MPI

from engine import worker
from engine.flat import FlatParameters

AT_STEP = 20


def main() -> None:
    """Serve trials as `engine.worker` does, up to one step of one rank."""
    how = sys.argv[1]
    healthy = FlatParameters.compute_gradients
    steps = 0

    def compute_gradients(*arguments: object) -> None:
        nonlocal steps
        steps += 1
        if MPI.COMM_WORLD.rank == 1 and steps == AT_STEP:  # the others are on their way into the exchange
            if how == "raise":
                raise RuntimeError("no more")
            if how == "exit":
                sys.exit("no more")
            os.kill(os.getpid(), signal.SIGKILL)
        healthy(*arguments)  # type: ignore[arg-type]

    FlatParameters.compute_gradients = compute_gradients  # type: ignore[method-assign,assignment]
    worker.main()


if __name__ == "__main__":
    main()
