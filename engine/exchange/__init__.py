"""Exchanges by name; `engine.config.ExchangeConfig` lists the names."""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI

from engine.config import OVERLAPPING, Algorithm, ExchangeConfig, Overlap
from engine.exchange.all_reduce import AllReduce, Averaged
from engine.exchange.alone import Alone
from engine.exchange.base import Exchange, ExchangeError
from engine.exchange.buckets import BUCKET_BYTES
from engine.exchange.meeting import Meeting
from engine.exchange.nccl import Nccl, NcclGroup, check_nccl, why_not_nccl
from engine.exchange.parameter_server import GradientServer, WeightServer
from engine.exchange.staging import Staging, cuda_aware
from engine.exchange.sums import SumOverRanks, hierarchical_sum, mpi_sum, reduce_and_broadcast, ring_sum
from engine.flat import FlatParameters
from engine.optimizer import Optimizer
from engine.phases import Phases

__all__ = [
    "SUMS",
    "AllReduce",
    "Alone",
    "Exchange",
    "ExchangeError",
    "GradientServer",
    "Meeting",
    "Nccl",
    "NcclGroup",
    "Staging",
    "WeightServer",
    "chosen_method",
    "cuda_aware",
    "hierarchical_sum",
    "make_exchange",
]

SUMS: dict[str, Callable[[MPI.Comm, Staging], SumOverRanks]] = {
    "all-reduce": mpi_sum,
    "ring": ring_sum,
    "hierarchical": hierarchical_sum,
    "reduce-broadcast": reduce_and_broadcast,
}
_SERVERS: dict[str, type[GradientServer | WeightServer]] = {"gradients": GradientServer, "weights": WeightServer}


def chosen_method(config: ExchangeConfig, comm: MPI.Comm, flat: FlatParameters) -> str:
    """The method that "auto" stands for: NCCL where every one of several ranks has a GPU, MPI's all-reduce otherwise.

    Collective over `comm`.
    """
    if config.method != "auto":
        return config.method
    return "nccl" if comm.size > 1 and not why_not_nccl(comm, flat.weights.device) else "all-reduce"


def make_exchange(
    method: str,
    average: Averaged,
    comm: MPI.Comm,
    flat: FlatParameters,
    optimizer: Optimizer,
    phases: Phases,
    *,
    overlap: Overlap = "auto",
    algorithm: Algorithm = "auto",
    bucket_bytes: int = BUCKET_BYTES,
    direct: bool | None = None,
) -> Exchange:
    """The exchange by a method of `chosen_method`'s; no weights are sent before `start`. Collective over `comm`.

    One rank has nothing to exchange, by any method. `overlap` says whether gradients are sent in buckets while others
    are computed: "auto" where there are more than `bucket_bytes` of them and `method` is MPI's all-reduce; NCCL's
    buckets, whose gain nobody has measured yet, have to be asked for. `algorithm` is NCCL's. `direct` is `Staging`'s.

    Raises:
        ExchangeError: NCCL is asked for, and ranks share a GPU or have none, or are joined already by another
            algorithm; or overlapping, which `method` does not.
    """
    size = bucket_bytes if _overlapped(method, average, comm, flat, overlap, bucket_bytes) else None
    if method == "nccl":
        check_nccl(comm, flat.weights.device)
    if comm.size == 1:
        return Alone(optimizer, phases)
    if method == "nccl":
        return Nccl(comm, flat, optimizer, phases, average, size, algorithm)
    staging = Staging(flat, direct)
    if method == "parameter-server":
        return _SERVERS[average](comm, flat, optimizer, phases, staging)
    return AllReduce(comm, flat, optimizer, phases, average, SUMS[method](comm, staging), staging, size)


def _overlapped(
    method: str, average: Averaged, comm: MPI.Comm, flat: FlatParameters, overlap: Overlap, bucket_bytes: int
) -> bool:
    """Whether gradients are sent while others are computed; what cannot be is refused where it is asked for."""
    on_gpu = flat.weights.device.type == "cuda"
    problem = ""
    if average != "gradients":
        problem = "weights are averaged, which change only when all gradients are there"
    elif method not in OVERLAPPING:
        problem = f"{method} sends gradients when all are there"
    elif method == "all-reduce" and on_gpu:
        problem = "on a GPU the gradients of a step are one CUDA graph, which MPI cannot join"
    if overlap == "on" and problem:
        raise ExchangeError(
            f"trial.exchange.overlap: is on, and {problem}", "use `overlap: auto`, or average gradients by nccl"
        )
    large = len(flat) * flat.gradients.element_size() > bucket_bytes
    wanted = overlap == "on" or (overlap == "auto" and large and method != "nccl")
    return not problem and comm.size > 1 and wanted
