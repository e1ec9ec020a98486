"""A rank of the study: sums messages of growing sizes by several methods; the first prints rows as JSON.

No speed is told before the sum is right: with small whole numbers it is exact, in whatever order ranks add.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from mpi4py import MPI
from torch import Tensor, nn

from engine.device import choose_device, describe
from engine.exchange import SUMS, NcclGroup, Staging
from engine.flat import FlatParameters
from experiments.all_reduce.speed import NCCL, WrongSumError

_PERIOD = 31  # numbers, after which the pattern of a message repeats itself
_CHUNK = _PERIOD << 15  # numbers
_ROUND_S = 0.05
_MOST_REPEATS = 500
_EXACT_TO = 1e-3  # NCCL's are means, which round; a wrong sum is off by one at least


class Message:
    """The gradients of a network of so many bytes on a device, which ranks come to the sum of by any method."""

    def __init__(self, comm: MPI.Comm, device: torch.device, size: int) -> None:
        module = nn.Module()
        module.register_parameter("weights", nn.Parameter(torch.zeros(size // 4, device=device)))
        self._comm, self._device, self._flat = comm, device, FlatParameters(module)

    def by(self, method: str) -> tuple[Callable[[], None], str]:
        """What sums it up by a method, and where the bytes that are sent lie. Collective."""
        if algorithm := NCCL.get(method):
            group = NcclGroup(self._comm, self._device, algorithm)
            return lambda: group.mean(self._flat.on_device("gradients")), "direct"
        staging = Staging(self._flat)
        sum_over_ranks = SUMS[method](self._comm, staging)

        def by_mpi() -> None:
            sum_over_ranks(staging.take("gradients"))
            staging.give("gradients")

        return by_mpi, staging.name

    def check(self, method: str, reduce: Callable[[], None]) -> None:
        """Raises WrongSumError on every rank where the sum is wrong on any. Collective."""
        numbers = torch.arange(_PERIOD, dtype=torch.float32, device=self._device)
        each = [(numbers * (3 * rank + 1)) % _PERIOD - _PERIOD // 2 for rank in range(self._comm.size)]
        for part in self._parts():
            part.copy_(_repeated(each[self._comm.rank])[: len(part)])
        reduce()
        expected = _repeated(torch.stack(each).sum(0)) / (self._comm.size if method in NCCL else 1)
        right = all(torch.allclose(part, expected[: len(part)], rtol=0, atol=_EXACT_TO) for part in self._parts())
        wrong = [rank for rank, fine in enumerate(self._comm.allgather(right)) if not fine]
        if wrong:
            raise WrongSumError(method, self._flat.gradients.nbytes, wrong)

    def clear(self) -> None:
        """Zeros, whose sum is zeros, however often."""
        self._flat.on_device("gradients").zero_()

    def settle(self) -> None:
        """Wait until the device has done all."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _parts(self) -> Sequence[Tensor]:
        return torch.split(self._flat.on_device("gradients"), _CHUNK)


def _repeated(pattern: Tensor) -> Tensor:
    return pattern.repeat(_CHUNK // _PERIOD)


def measure(wanted: str, methods: Sequence[str], sizes: Sequence[int], rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each size in bytes and method: seconds of a sum in each round, those of the slowest rank.

    A round has as many sums as take about 0.05 s.

    Raises:
        WrongSumError: a method's sum is not the sum.
    """
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    device = choose_device(wanted, comm)
    for size in sizes:
        message = Message(comm, device, size)
        by = {method: message.by(method) for method in methods}
        for method, (reduce, _) in by.items():
            message.check(method, reduce)
        message.clear()
        repeats = {method: _repeats(comm, message, reduce) for method, (reduce, _) in by.items()}
        found: dict[str, list[float]] = {method: [] for method in methods}
        for _ in range(rounds):
            for method, (reduce, _) in by.items():
                found[method].append(_round(comm, message, reduce, repeats[method]))
        for method, (_, messages) in by.items():
            yield {
                "method": method,
                "workers": comm.size,
                "bytes": size,
                "rounds": [round(seconds, 9) for seconds in found[method]],
                "repeats": repeats[method],
                "messages": messages,
                "device": describe(device)["device_name"],
            }


def _repeats(comm: MPI.Comm, message: Message, reduce: Callable[[], None]) -> int:
    alone = _round(comm, message, reduce, 1)
    return max(1, min(_MOST_REPEATS, round(_ROUND_S / alone)))


def _round(comm: MPI.Comm, message: Message, reduce: Callable[[], None], repeats: int) -> float:
    """Seconds of a sum, as the mean over `repeats` sums one after another."""
    message.settle()
    comm.Barrier()
    begun = time.perf_counter()
    for _ in range(repeats):
        reduce()
    message.settle()
    return float(comm.allreduce(time.perf_counter() - begun, MPI.MAX)) / repeats


def main() -> None:
    """Measure, and let rank 0 tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="in bytes")
    given = parser.parse_args()
    rows = list(measure(given.device, given.methods, given.sizes, given.rounds))
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(json.dumps(rows))


if __name__ == "__main__":
    main()
