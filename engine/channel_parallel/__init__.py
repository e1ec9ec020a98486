"""Networks split over channels and filters: ranks that share samples share each layer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.channel_parallel.algorithms import (
    ALGORITHMS,
    Algorithm,
    ConvolutionShape,
    GridError,
    Ways,
    bytes_moved,
    ways_of,
)
from engine.channel_parallel.choice import Estimate, LayerChoice, NetworkPlan, plan_of, plans_of
from engine.channel_parallel.machine import Machine

if TYPE_CHECKING:
    from engine.channel_parallel.convolution import ChannelParallelConv2d
    from engine.channel_parallel.grid import ProcessGrid
    from engine.channel_parallel.network import ChannelParallelNetwork, split_network
    from engine.channel_parallel.shapes import shapes_of
    from engine.channel_parallel.split_layer import whole_tensors

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "ChannelParallelConv2d",
    "ChannelParallelNetwork",
    "ConvolutionShape",
    "Estimate",
    "GridError",
    "LayerChoice",
    "Machine",
    "NetworkPlan",
    "ProcessGrid",
    "Ways",
    "bytes_moved",
    "plan_of",
    "plans_of",
    "shapes_of",
    "split_network",
    "ways_of",
    "whole_tensors",
]

_HOMES = {  # of what needs torch and MPI
    "ChannelParallelConv2d": "convolution",
    "ChannelParallelNetwork": "network",
    "ProcessGrid": "grid",
    "shapes_of": "shapes",
    "split_network": "network",
    "whole_tensors": "split_layer",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
