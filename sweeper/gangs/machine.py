"""What this machine has: cores that this process may use, and GPUs."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sweeper.gangs.seats import Capacity, Seats


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
    return list(_said_of_gpus())


def gpu_uuids(names: Sequence[str]) -> dict[str, str]:
    """The UUID of each GPU that is named by its index or a UUID's beginning, of those that can be found."""
    uuids = _said_of_gpus()
    by_name = {index: uuid for uuid, index in uuids.items()}
    found = {name: by_name.get(name) or next((uuid for uuid in uuids if uuid.startswith(name)), "") for name in names}
    return {name: uuid for name, uuid in found.items() if uuid}


@functools.cache
def _said_of_gpus() -> dict[str, str]:
    """The index of each GPU of the machine by its UUID, as nvidia-smi has them."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return {}
    query = [smi, "--query-gpu=uuid,index", "--format=csv,noheader"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    pairs = [line.partition(",") for line in said.splitlines() if "," in line]
    return {uuid.strip(): index.strip() for uuid, _, index in pairs}
