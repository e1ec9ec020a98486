"""All-reduce between GPUs by NCCL: nothing goes over the host, and a captured step holds it."""

from __future__ import annotations

import os
from collections import defaultdict

import torch
from mpi4py import MPI
from torch import Tensor, distributed
from torch._C._distributed_c10d import TCPStore

from engine.config import Algorithm
from engine.exchange.all_reduce import Averaged, Averaging
from engine.exchange.base import ExchangeError
from engine.exchange.buckets import Sent
from engine.flat import FlatParameters
from engine.optimizer import Optimizer
from engine.phases import WAIT, Phases
from engine.place import address

_VARIABLE = "NCCL_ALGO"
# Since this version the variable is for one function or for all; before, what a function lacks was a ring.
_BY_FUNCTION = (2, 24)
_joined_by: list[Algorithm] = ["auto"]  # this process's group


class Nccl(Averaging):
    """Gradients or weights averaged by NCCL's all-reduce, in the order of the stream; `check_nccl` says for whom."""

    on_device = True
    staging = "direct"

    def __init__(
        self,
        comm: MPI.Comm,
        flat: FlatParameters,
        optimizer: Optimizer,
        phases: Phases,
        average: Averaged,
        bucket_bytes: int | None = None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self._group = NcclGroup(comm, flat.weights.device, algorithm)
        self._token = torch.zeros(1, device=flat.weights.device)  # all ranks have come when its mean is there
        super().__init__(flat, optimizer, phases, average, bucket_bytes)

    def start(self) -> None:
        """Give every rank the weights of rank 0."""
        distributed.broadcast(self._flat.weights, src=0)

    def _mean(self, name: Averaged) -> None:
        if self._phases.detailed:
            self._phases.enter(WAIT)
            self._group.mean(self._token)
        self._phases.enter("all-reduce")
        if self._buckets and name == "gradients":
            self._buckets.finish()
        else:
            self._group.mean(self._flat.on_device(name))

    def _launch(self, part: Tensor) -> Sent:
        return _SentByTorch(self._group.begin_mean(part))


class NcclGroup:
    """The ranks as torch sees them: over NCCL on GPUs, over Gloo on CPUs, where only tests have it. Collective."""

    def __init__(self, comm: MPI.Comm, device: torch.device, algorithm: Algorithm) -> None:
        _join(comm, device, algorithm)
        self._on_gpu, self._ranks = device.type == "cuda", comm.size

    def mean(self, buffer: Tensor) -> None:
        """Replace a buffer by its mean over the ranks."""
        distributed.all_reduce(self._scaled(buffer), self._operation())

    def begin_mean(self, buffer: Tensor) -> distributed.Work:
        """The same, on a stream beside."""
        work: distributed.Work = distributed.all_reduce(self._scaled(buffer), self._operation(), async_op=True)
        return work

    def _operation(self) -> distributed.ReduceOp.RedOpType:
        return distributed.ReduceOp.AVG if self._on_gpu else distributed.ReduceOp.SUM  # Gloo has sums only

    def _scaled(self, buffer: Tensor) -> Tensor:
        return buffer if self._on_gpu else buffer.mul_(1 / self._ranks)


class _SentByTorch:
    def __init__(self, work: distributed.Work) -> None:
        self._work = work

    def poll(self) -> None:
        """Nothing to do: NCCL and Gloo go on by themselves."""

    def wait(self) -> None:
        self._work.wait()


def why_not_nccl(comm: MPI.Comm, device: torch.device) -> str:
    """What stands against NCCL between these ranks; nothing where nothing does. Collective over `comm`."""
    mine = (_host(), str(torch.cuda.get_device_properties(device).uuid)) if device.type == "cuda" else None
    places = defaultdict(list)
    for rank, place in enumerate(comm.allgather(mine)):
        places[place].append(rank)
    if None in places:
        return "they compute on CPUs"
    shared = next((ranks for ranks in places.values() if len(ranks) > 1), None)
    return f"ranks {shared[0]} and {shared[1]} share one" if shared else ""


def check_nccl(comm: MPI.Comm, device: torch.device) -> None:
    """Raises ExchangeError where ranks share a GPU or have none. Collective over `comm`."""
    if problem := why_not_nccl(comm, device):
        raise ExchangeError(
            f"trial.exchange.method: nccl needs a GPU for every rank, and {problem}",
            "use `exchange: auto`, or fewer workers",
        )


def _join(comm: MPI.Comm, device: torch.device, algorithm: Algorithm) -> None:
    """A process group over the ranks of `comm`, found through MPI; a gang keeps it from trial to trial."""
    if distributed.is_initialized():
        joined = distributed.get_world_size()
        if algorithm != _joined_by[0]:
            raise ExchangeError(
                f"trial.exchange.algorithm: nccl sums by {_joined_by[0]} in this process already, not by {algorithm}",
                "run trials of another algorithm in another gang",
            )
        if joined != comm.size:
            raise ExchangeError(
                f"trial.exchange.method: nccl joins {joined} ranks in this process already, not {comm.size}",
                "run trials of another worker count in another gang",
            )
        return
    hosts = comm.allgather(_host())
    meeting = "127.0.0.1" if len(set(hosts)) == 1 else hosts[0]
    store = TCPStore(meeting, 0, is_master=True, wait_for_workers=False) if comm.rank == 0 else None
    port = comm.bcast(store.port if store else None)
    if store is None:
        store = TCPStore(meeting, port, is_master=False)
    on_gpu = device.type == "cuda"
    _joined_by[:] = [algorithm]
    if on_gpu and algorithm != "auto":
        os.environ[_VARIABLE] = _wanted(algorithm)  # which NCCL reads once, when it makes the communicator
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo",
        store=store,
        rank=comm.rank,
        world_size=comm.size,
        device_id=device if on_gpu else None,
    )


def _wanted(algorithm: Algorithm) -> str:
    """The algorithm of all-reduces alone, as this NCCL wants it said: a tree cannot broadcast."""
    version: tuple[int, ...] = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
    return f"allreduce:{algorithm}" if version >= _BY_FUNCTION else algorithm


def _host() -> str:
    """This host as others reach it: by its address in a gang over several hosts, whose names may mean nothing there."""
    return address() or MPI.Get_processor_name()
