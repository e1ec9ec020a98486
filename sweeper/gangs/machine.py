"""What this machine has: cores that this process may use, and GPUs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from sweeper.gangs.base import Capacity, Seats


def local_capacity() -> Capacity:
    """This machine as the only host."""
    return Capacity((Seats(usable_cpus(), len(local_gpus())),))


def usable_cpus(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores that this process may use: its affinity, and the container's quota where there is one; at least 1."""
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        share, period = quota.read_text().split()
        if share != "max":
            cores = min(cores, int(share) // int(period))
    return max(1, cores)


def local_gpus() -> list[str]:
    """Names of the visible GPUs, for CUDA_VISIBLE_DEVICES; an outer value of that variable is respected."""
    outer = os.environ.get("CUDA_VISIBLE_DEVICES")
    if outer is not None:
        return [name.strip() for name in outer.split(",") if name.strip() and name.strip() != "-1"]
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return []
    try:
        said = subprocess.run(
            [smi, "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return said.split()
