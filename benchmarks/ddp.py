"""A rank of DistributedDataParallel over gloo as people write it, for comparison: prints images a second on rank 0."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time

import torch
import torch.distributed
from mpi4py import MPI
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from engine.data import load
from engine.models import AlexNetCifar

_WARM_UP_STEPS = 3


def main() -> None:
    """Train over a DataLoader of float pictures; the clock begins after three steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    given = parser.parse_args()
    world = MPI.COMM_WORLD
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    _join(world)
    torch.manual_seed(world.rank)
    data = load("synthetic")
    pictures = (torch.from_numpy(data.inputs).float() / 255 - data.mean[0]) / data.std[0]
    dataset = TensorDataset(pictures, torch.from_numpy(data.targets))
    loader = DataLoader(dataset, batch_size=given.batch_size, shuffle=True, drop_last=True)
    model = DistributedDataParallel(AlexNetCifar(3, (32, 32), 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    steps = given.images // (given.batch_size * world.size)
    begun, done = 0.0, -_WARM_UP_STEPS
    while done < steps:
        for inputs, targets in loader:
            if done == 0:
                begun = time.perf_counter()
            optimizer.zero_grad()
            torch.autograd.backward(cross_entropy(model(inputs), targets))
            optimizer.step()
            done += 1
            if done == steps:
                break
    if world.rank == 0:
        sys.stdout.write(f"{steps * given.batch_size * world.size / (time.perf_counter() - begun)}\n")
    torch.distributed.destroy_process_group()


def _join(world: MPI.Comm) -> None:
    port = None
    if world.rank == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    port = world.bcast(port)
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=world.rank, world_size=world.size)


if __name__ == "__main__":
    main()
