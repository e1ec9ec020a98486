"""Waiting for rank 0 without burning a core: MPI's blocking calls spin."""

from __future__ import annotations

import time

import numpy as np
from mpi4py import MPI

_FIRST_SLEEP_S, _LONGEST_SLEEP_S = 0.00005, 0.002


def broadcast_text(comm: MPI.Comm, text: str | None) -> str:
    """Rank 0's `text` on every rank; collective. The others sleep, for up to 2 ms at a time, until it comes."""
    content = np.frombuffer((text or "").encode(), np.uint8)
    size = np.array([len(content)], np.int64)
    _wait(comm.Ibcast(size, root=0))
    if comm.rank != 0:
        content = np.empty(int(size[0]), np.uint8)
    _wait(comm.Ibcast(content, root=0))
    return content.tobytes().decode()


def _wait(request: MPI.Request) -> None:
    sleep_s = _FIRST_SLEEP_S
    while not request.Test():
        time.sleep(sleep_s)
        sleep_s = min(2 * sleep_s, _LONGEST_SLEEP_S)
