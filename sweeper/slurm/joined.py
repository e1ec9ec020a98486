"""Wait until Ray has all nodes of an allocation: `python -m sweeper.slurm.joined HOST:PORT NODES`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress

from sweeper.errors import LaunchError
from sweeper.gangs.ray import RayExecutor

_LIMIT_S = 300.0  # a Python on a busy network file system takes a minute or two to start
_PAUSE_S = 0.5


def nodes_of(address: str) -> int:
    """How many nodes the Ray at this address has; 0 while it cannot be reached."""
    with suppress(LaunchError), closing(RayExecutor(address)) as executor:
        return len(executor.capacity().hosts)
    return 0


def main(arguments: Sequence[str]) -> None:
    """Wait for the nodes; the exit code is 1 with one line if they do not all come."""
    address, wanted = arguments[0], int(arguments[1])
    deadline = time.monotonic() + _LIMIT_S
    while (found := nodes_of(address)) < wanted:
        if time.monotonic() > deadline:
            sys.exit(
                f"error: {found} of {wanted} nodes of Ray came up within {_LIMIT_S:g} s; the job's output says why"
            )
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1:])
