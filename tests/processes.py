"""What is left running: tests look for it after each kind of end."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def processes_with(variable: str, value: str) -> list[psutil.Process]:
    """Living processes whose environment has the variable at this value: a tag that children inherit."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; none where it has ended in between, also while nobody has waited for it yet."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def eventually(holds: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    """Whether a condition comes true; processes need a moment to be gone."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
