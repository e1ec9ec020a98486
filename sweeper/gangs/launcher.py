"""How an MPI job is started: which mpiexec, with which words, in which environment."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import LaunchError

VARIABLE = "SWEEPER_MPIEXEC"
WORKER = ("-m", "mpi4py", "-m", "engine.worker")
# Variables by which an outer MPI job would draw ours into itself.
_OUTER_JOB = ("PMI_", "PMIX_", "OMPI_", "HYDRA_", "HYDI_", "MPIEXEC_", "PRTE_", "SLURM_")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# glibc gives large blocks back after each step and faults them in again at the next: a sixth of a step on CPUs.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


@dataclass(frozen=True)
class Launcher:
    """An mpiexec and the options that its kind needs."""

    mpiexec: str
    kind: str  # "mpich" or "openmpi"

    def command(self, ranks: int, program: Sequence[str]) -> list[str]:
        """The words that start `program` on `ranks` ranks of this host."""
        options: list[str] = []
        if self.kind == "openmpi":
            # Seats are given by us, and its own count of slots knows nothing of them.
            options = ["--oversubscribe", "--bind-to", "none"]
            if os.geteuid() == 0:
                options.append("--allow-run-as-root")
        return [self.mpiexec, *options, "-n", str(ranks), *program]


def find_launcher() -> Launcher:
    """SWEEPER_MPIEXEC, else the mpiexec beside this Python, else the one on the path.

    Raises:
        LaunchError: there is none, or it is of an unknown kind.
    """
    named = os.environ.get(VARIABLE)
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = named or (str(beside) if beside.exists() else shutil.which("mpiexec"))
    if mpiexec is None:
        raise LaunchError(
            "no mpiexec beside this Python or on the path", f"`pip install mpich`, or name one with {VARIABLE}"
        )
    return Launcher(mpiexec, _kind(mpiexec))


@functools.cache
def _kind(mpiexec: str) -> str:
    try:
        said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{mpiexec} cannot be run ({error})", f"name a working mpiexec with {VARIABLE}") from None
    if "HYDRA" in said:
        return "mpich"
    if "Open MPI" in said or "OpenRTE" in said:
        return "openmpi"
    raise LaunchError(f"{mpiexec} is neither MPICH's nor Open MPI's", f"name one of these with {VARIABLE}")


def gang_environment(outer: Mapping[str, str], cpus_per_worker: int, gpus: Sequence[str] | None) -> dict[str, str]:
    """The ranks' environment: the outer one without an outer MPI job, threads pinned, only these GPUs visible.

    `gpus` are names for CUDA_VISIBLE_DEVICES; None leaves what is visible as it is.
    """
    environment = {name: value for name, value in outer.items() if not name.startswith(_OUTER_JOB)}
    environment.update(dict.fromkeys(_THREADS, str(cpus_per_worker)))
    for name, value in _KEEP_MEMORY.items():
        environment.setdefault(name, value)
    if gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
