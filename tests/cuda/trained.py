"""A rank of a trial on GPUs: `python -m tests.cuda.trained CONFIG`; rank 0 prints losses and exchange as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Point, Started
from engine.trainer import train


def main() -> None:
    """Train over all ranks."""
    events: list[Any] = []
    train("t", TrainingConfig.model_validate_json(sys.argv[1]), MPI.COMM_WORLD, events.append)
    losses = [event.loss for event in events if isinstance(event, Point)]
    exchange = next((event.effective["exchange"] for event in events if isinstance(event, Started)), None)
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps({"losses": losses, "exchange": exchange}) + "\n")


if __name__ == "__main__":
    main()
