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
from typing import Literal

from engine.cores import VARIABLE as CORES_VARIABLE
from sweeper.errors import LaunchError
from sweeper.gangs.base import Job

VARIABLE = "SWEEPER_MPIEXEC"
WORKER = ("-m", "mpi4py", "-m", "engine.worker")
# Where we sit in an outer MPI job or allocation is nothing of a gang's.
_OUTER = ("PMI_", "PMIX_", "SLURM_")
# Of these an outer job sets many, and a user some as settings: they go only where there is an outer job.
_OUTER_JOB = ("OMPI_", "HYDRA_", "HYDI_", "MPIEXEC_", "PRTE_")
_SIGNS_OF_A_JOB = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# glibc gives large blocks back after each step and faults them in again at the next: a sixth of a step on CPUs.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}


@dataclass(frozen=True)
class Launcher:
    """An mpiexec and what its kind needs; `version` is the first line that it says of itself."""

    mpiexec: str
    kind: Literal["mpich", "openmpi"]
    version: str = ""

    def command(self, ranks: int, program: Sequence[str]) -> list[str]:
        """The words that start `program` on `ranks` ranks of this host."""
        return [self.mpiexec, *self._here(), "-n", str(ranks), *program]

    def command_over(self, places: Sequence[tuple[str, int]], program: Sequence[str], folder: str) -> list[str]:
        """The words that start `program` in `folder` on hosts by address, the first of them this one, and their ranks.

        The mpiexec prints a command for each host and starts nothing itself.

        Raises:
            LaunchError: this kind of mpiexec cannot do that.
        """
        if self.kind != "mpich":
            raise LaunchError(
                f"{self.mpiexec} is Open MPI's, which needs ssh for a gang over several hosts",
                f"`pip install mpich`, and name its mpiexec with {VARIABLE}, or keep to workers that fit one host",
            )
        hosts = ",".join(f"{address}:{ranks}" for address, ranks in places)
        # Each host has an environment of its own, and knows how the others reach it.
        manual = ["-launcher", "manual", "-rmk", "user", "-localhost", places[0][0], "-genvnone", "-wdir", folder]
        return [self.mpiexec, *manual, "-hosts", hosts, "-n", str(sum(ranks for _, ranks in places)), *program]

    def _here(self) -> list[str]:
        options: list[str] = []
        if self.kind == "openmpi":
            # Seats are given by us, and its own count of slots knows nothing of them.
            options = ["--oversubscribe", "--bind-to", "none"]
            if "OpenRTE" in self.version:
                # Versions before 5 refuse to start without ssh, also where no other host is asked for.
                options += ["--mca", "plm", "isolated"]
            if os.geteuid() == 0:
                options.append("--allow-run-as-root")
        return options

    def environment(
        self,
        outer: Mapping[str, str],
        cpus_per_worker: int,
        gpus: Sequence[str] | None = None,
        *,
        crowded: bool = False,
    ) -> dict[str, str]:
        """The ranks' environment: `outer` without an outer MPI job, threads pinned, only these GPUs visible.

        `gpus` are names for CUDA_VISIBLE_DEVICES; None leaves what is visible as it is. `crowded` where there are more
        ranks than cores, which then are to leave a core to each other while they wait.
        """
        foreign = _OUTER + (_OUTER_JOB if any(sign in outer for sign in _SIGNS_OF_A_JOB) else ())
        environment = {name: value for name, value in outer.items() if not name.startswith(foreign)}
        environment.update(dict.fromkeys(_THREADS, str(cpus_per_worker)))
        for name, value in _KEEP_MEMORY.items():
            environment.setdefault(name, value)
        if self.kind == "openmpi":
            # mpi4py would take an MPICH beside this Python first, and each rank be a world of its own.
            environment.setdefault("MPI4PY_MPIABI", "openmpi")
            if crowded:
                environment.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
        elif crowded:
            environment.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
        environment.pop(CORES_VARIABLE, None)  # of an outer gang
        if gpus is not None:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        environment["PYTHONUNBUFFERED"] = "1"
        return environment


def rank_environment(launcher: Launcher, job: Job, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a job's ranks on this host: this process's, the job's seats, and `variables`."""
    return {
        **launcher.environment(os.environ, job.cpus_per_worker, job.gpus, crowded=job.granted is not None),
        **({CORES_VARIABLE: ",".join(map(str, job.cores))} if job.cores else {}),
        **variables,
    }


def wrong_launcher(mpiexec: str, ranks: int, worlds_of: int) -> tuple[str, str]:
    """What is wrong with an mpiexec whose `ranks` processes see worlds of so many ranks, and the remedy."""
    each = "one rank" if worlds_of == 1 else f"{worlds_of} ranks"
    return (
        f"{mpiexec} starts {ranks} processes in separate worlds of {each}, and not one world of {ranks}",
        "the ranks' MPI is another one than this mpiexec's: `pip install mpich` brings one that fits, or name the "
        f"right mpiexec with {VARIABLE}; `sweeper doctor` checks it",
    )


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
    return _identify(mpiexec)


@functools.cache
def _identify(mpiexec: str) -> Launcher:
    try:
        said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{mpiexec} cannot be run ({error})", f"name a working mpiexec with {VARIABLE}") from None
    version = next(iter(said.splitlines()), "")
    if "HYDRA" in said:
        return Launcher(mpiexec, "mpich", version)
    if "Open MPI" in said or "OpenRTE" in said:
        return Launcher(mpiexec, "openmpi", version)
    raise LaunchError(f"{mpiexec} is neither MPICH's nor Open MPI's", f"name one of these with {VARIABLE}")
