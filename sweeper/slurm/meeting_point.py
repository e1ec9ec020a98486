"""Where the Ray nodes of an allocation meet: run on the head's node, prints its HOST:PORT.

`python -m sweeper.slurm.meeting_point [OTHER-NODE]`: the address from which this machine reaches the other node, or the
loopback if there is none, with a free port.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"
_ANY_PORT = 9  # nothing is sent there


def own_address(other: str | None) -> str:
    """The address of the interface towards `other`. Raises OSError if that name is unknown or has no route."""
    if other is None:
        return LOOPBACK
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards:
        towards.connect((other, _ANY_PORT))
        return str(towards.getsockname()[0])


def free_port(address: str) -> int:
    """A port of this address that nobody listens at."""
    with socket.socket() as listener:
        listener.bind((address, 0))
        return int(listener.getsockname()[1])


def main(arguments: Sequence[str]) -> None:
    """Print the address; the exit code is 1 with one line if there is none."""
    other = arguments[0] if arguments else None
    try:
        address = own_address(other)
        sys.stdout.write(f"{address}:{free_port(address)}\n")
    except OSError as error:
        sys.exit(f"error: node {other}: no way to reach it from {socket.gethostname()} ({error.strerror})")


if __name__ == "__main__":
    main(sys.argv[1:])
