"""Exchanges by name; `engine.config.ExchangeConfig` lists the names."""

from __future__ import annotations

from mpi4py import MPI
from torch.optim import Optimizer

from engine.config import ExchangeConfig
from engine.exchange.base import Exchange
from engine.exchange.parameter_server import GradientServer, WeightServer
from engine.flat import FlatParameters
from engine.phases import Phases

__all__ = ["Exchange", "GradientServer", "WeightServer", "make_exchange"]


def make_exchange(
    config: ExchangeConfig, comm: MPI.Comm, flat: FlatParameters, optimizer: Optimizer, phases: Phases
) -> Exchange:
    """The exchange of `config` over `comm`; nothing is sent before `start`."""
    kinds: dict[str, type[GradientServer | WeightServer]] = {"gradients": GradientServer, "weights": WeightServer}
    return kinds[config.average](comm, flat, optimizer, phases)
