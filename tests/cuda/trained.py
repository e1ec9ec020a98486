"""A rank of a trial on GPUs: `python -m tests.cuda.trained CONFIG`; rank 0 prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Ended, Point, Started
from engine.trainer import train


def main() -> None:
    """Train over all ranks."""
    events: list[Any] = []
    train("t", TrainingConfig.model_validate_json(sys.argv[1]), MPI.COMM_WORLD, events.append)
    losses = [event.loss for event in events if isinstance(event, Point)]
    if MPI.COMM_WORLD.rank == 0:
        started, ended = events[0], events[-1]
        assert isinstance(started, Started)
        assert isinstance(ended, Ended)
        told = {name: started.effective[name] for name in ("exchange", "captured")}
        sys.stdout.write(
            json.dumps({"losses": losses, "seconds": ended.seconds, "phases": ended.phases, **told}) + "\n"
        )


if __name__ == "__main__":
    main()
