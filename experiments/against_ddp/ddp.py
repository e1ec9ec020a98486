"""The engine's networks by DistributedDataParallel, as an experienced user of torch writes it.

It begins with the engine's weights and sees the engine's images in the engine's order, so that curves can be compared
step by step. Its data and the numbers of each step's samples lie where it computes, pictures and weights channels last;
no DataLoader slows it down. With
`--how compiled` the network is compiled (`mode="reduce-overhead"`, CUDA graphs on a GPU) and SGD is fused. With
`--precision bf16` the forward pass is under autocast. Running means of batch normalisation stay each rank's own, as in
the engine. Compilation and the first steps are off the clock.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import sweeper
from engine.data import load
from engine.data.shards import Stream, share
from engine.models import make_network

WARM_UP_STEPS = 15


def main() -> None:
    """Train and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, required=True)
    batch = parser.add_mutually_exclusive_group(required=True)
    batch.add_argument("--batch", type=int, help="images per worker and step")
    batch.add_argument("--global-batch", type=int, help="images of all workers per step")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--images", type=int, help="images seen in all")
    budget.add_argument("--steps", type=int, help="steps of each worker")
    parser.add_argument("--points", type=int, default=50, help="loss points of the run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="alexnet-cifar")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--how", choices=["eager", "compiled"], default="eager")
    parser.add_argument("--precision", choices=["tf32", "bf16"], default="tf32", help="tf32: where a GPU has it")
    parser.add_argument("--warm-up", type=int, default=WARM_UP_STEPS, help="steps before the clock starts")
    given = parser.parse_args()
    device = _device()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    train(given, device)
    # Without it one run in ten of two ranks on cores has aborted here, or hung (torch 2.13, gloo).
    gc.collect()
    distributed.destroy_process_group()


def _device() -> torch.device:
    """This rank's GPU, by its number on its host; the cores where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)  # NCCL's own memory, too
    return device


def train(given: argparse.Namespace, device: torch.device) -> None:
    """One run, with a report for each loss point."""
    data = load(given.data)
    mean, std = (torch.tensor(numbers).view(1, -1, 1, 1) for numbers in (data.mean, data.std))
    pictures = ((torch.tensor(data.inputs).float() / 255 - mean) / std).to(device)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    targets = torch.tensor(data.targets, device=device)
    torch.manual_seed(given.seed)
    network = make_network(given.model, data.sample_shape, data.classes).to(device)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    ids = [device] if device.type == "cuda" else None
    model: nn.Module = DistributedDataParallel(
        network,
        device_ids=ids,
        gradient_as_bucket_view=True,
        static_graph=given.how == "eager",
        **_own_buffers(),
    )
    compiled = given.how == "compiled"
    optimizer = torch.optim.SGD(model.parameters(), given.rate, fused=True if compiled else None)
    if compiled:
        model.compile(mode="reduce-overhead" if ids else None)

    def learn(numbers: Tensor) -> Tensor:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=given.precision == "bf16"):
            loss = cross_entropy(model(pictures[numbers]), targets[numbers])
        torch.autograd.backward(loss)
        optimizer.step()
        return loss.detach()

    workers = distributed.get_world_size()
    batch = given.global_batch or given.batch * workers
    images = given.images or given.steps * batch
    steps = list(shares(Stream(len(data), given.seed), images, batch, device))
    _warm_up(network, learn, steps[0], given.warm_up)
    per_point = images // given.points
    total, seen, since, reported = torch.zeros((), device=device), 0, 0, 0
    sweeper.start()
    for step, numbers in enumerate(steps, start=1):
        total += learn(numbers)
        seen, since = min(images, seen + batch), since + 1
        if seen // per_point > reported or seen == images:
            distributed.all_reduce(total)
            sweeper.report(loss=float(total) / since / workers, step=step, images=seen)
            reported, since = seen // per_point, 0
            total.zero_()


def _own_buffers() -> dict[str, Any]:
    """What leaves running means each rank's own; newer versions of torch have another name for it."""
    known = inspect.signature(DistributedDataParallel.__init__).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}


def shares(stream: Stream, images: int, batch: int, device: torch.device) -> Iterator[Tensor]:
    """This rank's samples of one step after another, on the device; `batch` images of all ranks in each."""
    rank, workers = distributed.get_rank(), distributed.get_world_size()
    for start in range(0, images, batch):
        first, end = share(start, min(images, start + batch), rank, workers)
        yield torch.from_numpy(stream.indices(first, end)).to(device, non_blocking=True)


def _warm_up(network: nn.Module, learn: Callable[[Tensor], Tensor], numbers: Tensor, steps: int) -> None:
    """Some steps whose learning is undone."""
    kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    for _ in range(steps):
        learn(numbers)
    network.load_state_dict(kept)
    if numbers.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
