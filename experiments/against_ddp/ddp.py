"""AlexNet-CIFAR by DistributedDataParallel, as an experienced user of torch writes it.

It begins with the engine's weights and sees the engine's images in the engine's order, so that curves can be compared
step by step. Its data and the numbers of each step's samples lie where it computes, pictures and weights channels last;
no DataLoader slows it down. With
`--how compiled` the network is compiled (`mode="reduce-overhead"`, CUDA graphs on a GPU) and SGD is fused. Compilation
and the first steps are off the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

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
    parser.add_argument("--batch", type=int, required=True, help="images per worker and step")
    parser.add_argument("--images", type=int, required=True, help="images seen in all")
    parser.add_argument("--points", type=int, default=50, help="loss points of the run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="cifar10")
    parser.add_argument("--how", choices=["eager", "compiled"], default="eager")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    train(given, device)
    distributed.destroy_process_group()


def train(given: argparse.Namespace, device: torch.device) -> None:
    """One run, with a report for each loss point."""
    data = load(given.data)
    mean, std = (torch.tensor(numbers).view(1, -1, 1, 1) for numbers in (data.mean, data.std))
    pictures = ((torch.from_numpy(data.inputs).float() / 255 - mean) / std).to(device)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    targets = torch.from_numpy(data.targets).to(device)
    torch.manual_seed(given.seed)
    network = make_network("alexnet-cifar", data.sample_shape, data.classes).to(device)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    ids = [device] if device.type == "cuda" else None
    model: nn.Module = DistributedDataParallel(
        network, device_ids=ids, gradient_as_bucket_view=True, static_graph=given.how == "eager"
    )
    compiled = given.how == "compiled"
    optimizer = torch.optim.SGD(model.parameters(), given.rate, fused=True if compiled else None)
    if compiled:
        model.compile(mode="reduce-overhead" if ids else None)

    def learn(numbers: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model(pictures[numbers]), targets[numbers])
        torch.autograd.backward(loss)
        optimizer.step()
        return loss.detach()

    steps = list(shares(given, len(data), device))
    _warm_up(network, learn, steps[0])
    workers, per_point = distributed.get_world_size(), given.images // given.points
    total, seen, since, reported = torch.zeros((), device=device), 0, 0, 0
    sweeper.start()
    for step, numbers in enumerate(steps, start=1):
        total += learn(numbers)
        seen, since = min(given.images, seen + given.batch * workers), since + 1
        if seen // per_point > reported or seen == given.images:
            distributed.all_reduce(total)
            sweeper.report(loss=float(total) / since / workers, step=step, images=seen)
            reported, since = seen // per_point, 0
            total.zero_()


def shares(given: argparse.Namespace, samples: int, device: torch.device) -> Iterator[Tensor]:
    """This rank's samples of one step after another, on the device."""
    stream, rank, workers = Stream(samples, given.seed), distributed.get_rank(), distributed.get_world_size()
    step = given.batch * workers
    for start in range(0, given.images, step):
        first, end = share(start, min(given.images, start + step), rank, workers)
        yield torch.from_numpy(stream.indices(first, end)).to(device, non_blocking=True)


def _warm_up(network: nn.Module, learn: Callable[[Tensor], Tensor], numbers: Tensor) -> None:
    """Some steps whose learning is undone."""
    kept = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    for _ in range(WARM_UP_STEPS):
        learn(numbers)
    network.load_state_dict(kept)
    if numbers.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
