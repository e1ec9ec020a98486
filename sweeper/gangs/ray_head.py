"""The private Ray of one executor, in a process and a session of its own.

Apart, so that no signal to the group of `sweeper run` (ctrl-C at a terminal, `timeout`) ends Ray while gangs are still
to be ended in order; and bound to its starter by standard input, whose end, however it comes about, shuts Ray down.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import secrets
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
_OBJECT_STORE_BYTES = 128 * 1024 * 1024  # only events pass through it


def import_ray() -> Any:
    """Ray, told before its first import to keep to the loopback interface and to itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Without this a node takes the machine's outer address even when it is given 127.0.0.1.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray
    import ray.util.scheduling_strategies

    return ray


def keep_private() -> None:
    """A secret that a Ray started from here asks of whoever connects: other users of the machine reach its ports too.

    One for the life of this process, since Ray reads it once.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def main() -> None:
    """Start Ray, print its address, wait for the end of standard input, shut Ray down."""
    arguments = _parse()
    # Whoever wants this to end closes standard input; only then is everything in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    ray = import_ray()
    try:
        ray.init(
            address="local",
            num_cpus=arguments.cpus,
            num_gpus=arguments.gpus,
            object_store_memory=_OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address=LOOPBACK,
            _temp_dir=str(arguments.folder),
        )
        with contextlib.suppress(BrokenPipeError):  # our starter has gone meanwhile: the end of input follows
            sys.stdout.write(ray.get_runtime_context().gcs_address + "\n")
            sys.stdout.flush()
        sys.stdin.read()
    finally:
        ray.shutdown()
        # Whoever started us may have been killed and cannot.
        shutil.rmtree(arguments.folder, ignore_errors=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Start a private Ray and hold it until standard input ends.")
    parser.add_argument("--cpus", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for Ray's files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
