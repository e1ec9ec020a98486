"""A trial's network split among the ranks that share samples."""

from __future__ import annotations

from torch import nn

from engine.channel_parallel.algorithms import Algorithm
from engine.channel_parallel.choice import plan_of
from engine.channel_parallel.grid import ProcessGrid
from engine.channel_parallel.machine import CORE, GPU
from engine.channel_parallel.network import ChannelParallelNetwork, split_network
from engine.channel_parallel.shapes import shapes_of
from engine.config import ParallelConfig


def split_for(
    network: nn.Module, config: ParallelConfig, grid: ProcessGrid, sample_shape: tuple[int, ...], batch: int
) -> ChannelParallelNetwork:
    """This rank's part of a network for steps of `batch` samples of all rows. Collective over the grid.

    "auto" takes the algorithm for each layer that the model of `choice` expects to be the fastest on assumed hardware:
    every rank comes to the same one, and so does every run.

    Raises:
        ModelError: a layer that cannot be split, by its name.
    """
    return split_network(network, grid, _algorithms(network, config, grid, sample_shape, batch))


def _algorithms(
    network: nn.Module, config: ParallelConfig, grid: ProcessGrid, sample_shape: tuple[int, ...], batch: int
) -> Algorithm | dict[str, Algorithm]:
    if config.algorithm != "auto":
        return config.algorithm
    machine = CORE if grid.device.type == "cpu" else GPU
    return plan_of(shapes_of(network, sample_shape, batch), grid.samples, grid.channels, machine).algorithms
