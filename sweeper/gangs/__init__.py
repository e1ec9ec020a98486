"""MPI jobs: launched, kept warm for the next trial, seated on cores and GPUs, and ended."""

from __future__ import annotations

from sweeper.gangs.base import Executor, Job, JobEvent
from sweeper.gangs.seats import Capacity, Growth, Seats

__all__ = ["EXECUTORS", "Capacity", "Executor", "Growth", "Job", "JobEvent", "Seats", "make_executor"]

EXECUTORS = ("ray", "local", "slurm")


def make_executor(
    name: str, ray_address: str | None = None, *, share: bool = False, growth: Growth | None = None
) -> Executor:
    """The executor of this name; Ray is loaded only where it is asked for. For the rest see `RayExecutor`.

    Raises:
        LaunchError: Ray cannot be started or reached, or this is not a SLURM allocation.
    """
    if name == "local":
        from sweeper.gangs.local import LocalExecutor

        return LocalExecutor(share=share)
    if name == "slurm":
        from sweeper.gangs.slurm import SlurmExecutor

        return SlurmExecutor(share=share)
    from sweeper.gangs.ray import RayExecutor

    return RayExecutor(ray_address, share=share, growth=growth)
