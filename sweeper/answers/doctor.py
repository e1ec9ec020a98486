"""Checks of what sweeps need, by using it: each gives findings and raises nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from engine.config import DATA
from engine.data import is_here, load
from engine.data.folders import VARIABLE
from engine.errors import ClearError
from sweeper.gangs.launcher import find_launcher
from sweeper.gangs.machine import local_capacity, local_gpus
from sweeper.gangs.worlds import RANKS, worlds_of

_TIMEOUT_S = 60


@dataclass(frozen=True)
class Finding:
    """What a check found: ok, absent (sweeps can do without it) or failed; a remedy unless it is ok."""

    name: str
    status: Literal["ok", "absent", "failed"]
    detail: str
    remedy: str = ""


def check_machine(_store_url: str) -> Iterator[Finding]:
    """The seats that gangs may take here."""
    seats = local_capacity().total
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("machine", "ok", f"{seats.cpus} CPUs, {seats.gpus} GPUs, Python {version}")


def check_mpi(_store_url: str) -> Iterator[Finding]:
    """Two ranks that add themselves up: several MPIs on a machine often give two worlds of one."""
    remedy = "`pip install mpich` brings one that fits, or name an mpiexec with SWEEPER_MPIEXEC"
    try:
        launcher = find_launcher()
        found = worlds_of(launcher)
    except (ClearError, OSError, subprocess.TimeoutExpired) as error:
        yield Finding("mpi", "failed", str(error), remedy)
        return
    if found.code == 0 and found.is_one:
        yield Finding("mpi", "ok", f"{RANKS} ranks in one world by {launcher.mpiexec} ({found.library})")
    elif found.code == 0:
        detail = f"{launcher.mpiexec} started {RANKS} ranks, and they came up in {found.count} worlds"
        yield Finding("mpi", "failed", detail, f"mpi4py uses another MPI than this mpiexec: {remedy}")
    else:
        yield Finding("mpi", "failed", f"{launcher.mpiexec}: {found.last_words}", remedy)


def check_ray(_store_url: str) -> Iterator[Finding]:
    """A private Ray, started and ended."""
    from sweeper.gangs.ray import RayExecutor

    try:
        executor = RayExecutor()
        seats = executor.capacity().total
        executor.close()
    except ClearError as error:
        yield Finding("ray", "failed", error.message, "`pip install ray`, or use `sweeper run --executor local`")
    else:
        yield Finding("ray", "ok", f"Ray {version('ray')} gave {seats.cpus} CPUs and {seats.gpus} GPUs on loopback")


def check_slurm(_store_url: str) -> Iterator[Finding]:
    """SLURM's commands, and the allocation that this process belongs to."""
    from sweeper.gangs.slurm import SlurmExecutor
    from sweeper.gangs.slurm.own_job import SlurmJob

    srun = shutil.which("srun")
    if srun is None:
        yield Finding("slurm", "absent", "no srun on the path", "none needed, unless this is a SLURM cluster")
    elif SlurmJob.ours() is None:
        yield Finding("slurm", "ok", f"{srun}; outside of an allocation, `sweeper slurm` writes a batch file")
    else:
        try:
            hosts = SlurmExecutor().capacity()
        except ClearError as error:
            yield Finding("slurm", "failed", error.message, error.remedy)
        else:
            seats = hosts.total
            yield Finding("slurm", "ok", f"{srun} on {len(hosts.hosts)} nodes: {seats.cpus} CPUs, {seats.gpus} GPUs")


def check_compiler(_store_url: str) -> Iterator[Finding]:
    """A C++ compiler, for operators that are built on installation."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        yield Finding("compiler", "absent", "no C++ compiler on the path", "install one, such as Debian's g++")
        return
    try:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding("compiler", "failed", f"{compiler} does not run ({error})", "set CXX to one that does")
    else:
        yield Finding("compiler", "ok", said.stdout.splitlines()[0])


def check_operators(_store_url: str) -> Iterator[Finding]:
    """The compiled operators: are they here, for this torch, and do they load?"""
    try:
        from cuda_ext.load import ExtensionError, load_operators
    except ImportError as error:
        yield Finding("operators", "failed", str(error), "install torch")
        return
    try:
        built = load_operators()
    except ExtensionError as error:
        yield Finding("operators", "failed", error.problem, f"{error.remedy}; or set trial.fc to torch")
        return
    if local_gpus() and not built.cuda:
        remedy = "install nvcc and run `python -m cuda_ext.build --cuda`; or set trial.fc to torch"
        yield Finding("operators", "failed", "built for CPUs, and there are GPUs", remedy)
    else:
        kernels = "with CUDA kernels" if built.cuda else "for CPUs"
        yield Finding("operators", "ok", f"built {kernels}, for torch {built.torch}")


def check_cuda(_store_url: str) -> Iterator[Finding]:
    """Whether torch sees the GPUs that the machine has."""
    import torch

    gpus = local_gpus()
    if torch.cuda.is_available():
        names = {torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())}
        yield Finding("cuda", "ok", f"torch {torch.__version__} sees {torch.cuda.device_count()}: {', '.join(names)}")
    elif gpus:
        remedy = "install the build of torch that fits the driver (pytorch.org tells which)"
        yield Finding("cuda", "failed", f"{len(gpus)} GPUs, and torch {torch.__version__} sees none", remedy)
    else:
        yield Finding("cuda", "absent", f"no GPU here; torch {torch.__version__} computes on the CPU", "none needed")


def check_store(store_url: str) -> Iterator[Finding]:
    """Open the store and read it; one that is not there yet is not made."""
    from sweeper.store import is_missing, read_store

    try:
        if is_missing(store_url):
            yield Finding("store", "ok", f"{store_url} is not there yet; the first sweep makes it")
            return
        store = read_store(store_url)
        count = len(store.sweeps.all())
        store.close()
    except ClearError as error:
        yield Finding("store", "failed", error.message, error.remedy)
    else:
        yield Finding("store", "ok", f"{store.name} holds {count} sweeps")


def check_data(_store_url: str) -> Iterator[Finding]:
    """Each data set: is it here, and can it be read? Nothing is fetched."""
    for name in DATA:
        if not is_here(name):
            remedy = f"fetched on first use; or put its files into PATH/{name}, and set {VARIABLE} to PATH"
            yield Finding(f"data {name}", "absent", "not on this machine", remedy)
            continue
        try:
            data = load(name)
        except ClearError as error:
            yield Finding(f"data {name}", "failed", error.message.removeprefix(f"data {name}: "), error.remedy)
        else:
            shape = " x ".join(map(str, data.sample_shape))
            yield Finding(f"data {name}", "ok", f"{len(data)} samples of {shape} for training")


CHECKS: tuple[Callable[[str], Iterator[Finding]], ...] = (
    check_machine,
    check_mpi,
    check_ray,
    check_slurm,
    check_compiler,
    check_operators,
    check_cuda,
    check_store,
    check_data,
)
