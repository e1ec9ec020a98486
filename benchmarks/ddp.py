"""A rank of DistributedDataParallel as people write it, for comparison: prints images a second on rank 0.

On CPUs over gloo with a DataLoader; with `--gpu` over NCCL, one GPU a rank, with the data there already.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Iterator

import torch
import torch.distributed
from mpi4py import MPI
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from engine.data import load
from engine.models import AlexNetCifar

_WARM_UP_STEPS = 3
_COMPILED_WARM_UP_STEPS = 15


def main() -> None:
    """Train, and let the clock begin after some steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--compile", action="store_true", help="torch.compile(mode='reduce-overhead'), fused SGD")
    parser.add_argument("--bf16", action="store_true", help="bfloat16 by autocast")
    parser.add_argument("--channels-last", action="store_true", help="pictures and weights as convolutions like them")
    given = parser.parse_args()
    world = MPI.COMM_WORLD
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    device = torch.device("cuda", world.rank % torch.cuda.device_count()) if given.gpu else torch.device("cpu")
    if given.gpu:
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    _join(world, "nccl" if given.gpu else "gloo")
    torch.manual_seed(world.rank)
    data = load("synthetic")
    pictures = (torch.from_numpy(data.inputs).float() / 255 - data.mean[0]) / data.std[0]
    targets = torch.from_numpy(data.targets)
    network = AlexNetCifar(3, (32, 32), 10).to(device)
    if given.channels_last:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    model: nn.Module = DistributedDataParallel(network, device_ids=[device] if given.gpu else None)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.004, fused=True if given.compile else None
    )
    if given.compile:
        model.compile(mode="reduce-overhead")
    steps = given.images // (given.batch_size * world.size)
    warm_up = _COMPILED_WARM_UP_STEPS if given.compile else _WARM_UP_STEPS
    batches = _resident(pictures.to(device), targets.to(device), given.batch_size) if given.gpu else None
    batches = batches or _loaded(pictures, targets, given.batch_size)
    begun = 0.0
    for done, (inputs, classes) in zip(range(-warm_up, steps), batches, strict=False):
        if done == 0:
            _wait(device)
            begun = time.perf_counter()
        if given.channels_last:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=given.bf16):
            loss = cross_entropy(model(inputs), classes)
        torch.autograd.backward(loss)
        optimizer.step()
    _wait(device)
    if world.rank == 0:
        sys.stdout.write(f"{steps * given.batch_size * world.size / (time.perf_counter() - begun)}\n")
    torch.distributed.destroy_process_group()


def _loaded(pictures: Tensor, targets: Tensor, batch_size: int) -> Iterator[list[Tensor]]:
    while True:
        yield from DataLoader(TensorDataset(pictures, targets), batch_size=batch_size, shuffle=True, drop_last=True)


def _resident(pictures: Tensor, targets: Tensor, batch_size: int) -> Iterator[list[Tensor]]:
    while True:
        order = torch.randperm(len(targets), device=targets.device)
        for start in range(0, len(order) - batch_size + 1, batch_size):
            indices = order[start : start + batch_size]
            yield [pictures[indices], targets[indices]]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _join(world: MPI.Comm, backend: str) -> None:
    port = None
    if world.rank == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    port = world.bcast(port)
    torch.distributed.init_process_group(backend, f"tcp://127.0.0.1:{port}", rank=world.rank, world_size=world.size)


if __name__ == "__main__":
    main()
