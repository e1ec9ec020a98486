"""Exchanges by name; `engine.config.ExchangeConfig` lists the names."""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI
from torch.optim import Optimizer

from engine.config import ExchangeConfig
from engine.exchange.all_reduce import (
    AllReduce,
    Averaged,
    SumOverRanks,
    hierarchical_sum,
    mpi_sum,
    reduce_and_broadcast,
    ring_sum,
)
from engine.exchange.base import Exchange
from engine.exchange.nccl import ExchangeError, Nccl, why_not_nccl
from engine.exchange.parameter_server import GradientServer, WeightServer
from engine.flat import FlatParameters
from engine.phases import Phases

__all__ = [
    "AllReduce",
    "Exchange",
    "ExchangeError",
    "GradientServer",
    "Nccl",
    "WeightServer",
    "chosen_method",
    "hierarchical_sum",
    "make_exchange",
]

_SUMS: dict[str, Callable[[MPI.Comm], SumOverRanks]] = {
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
    method: str, average: Averaged, comm: MPI.Comm, flat: FlatParameters, optimizer: Optimizer, phases: Phases
) -> Exchange:
    """The exchange by a method of `chosen_method`'s; no weights are sent before `start`. Collective over `comm`.

    Raises:
        ExchangeError: NCCL is asked for, and ranks share a GPU or have none.
    """
    if method == "parameter-server":
        return _SERVERS[average](comm, flat, optimizer, phases)
    if method == "nccl":
        return Nccl(comm, flat, optimizer, phases, average)
    return AllReduce(comm, flat, optimizer, phases, average, _SUMS[method](comm))
