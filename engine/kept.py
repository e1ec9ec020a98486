"""Data sets and learners that a gang keeps from trial to trial. All of them may go between two trials."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Hashable

import numpy as np
import torch
from mpi4py import MPI

from engine.batches import HostBatches, Loaded, ResidentBatches
from engine.captured import Pool
from engine.channel_parallel.grid import ProcessGrid
from engine.config import is_factory
from engine.data import DataSet, load
from engine.device import choose_device, use_device
from engine.learner import Learner
from engine.operators import OperatorsError, check_operators

_SHARE_OF_GPU = 8  # kept for later trials: at most this fraction of a GPU's memory, as 1 / 8
_SHARE_FREE = 4  # and at least 1 / 4 stays free, whoever holds the rest
_MOST_ON_HOST = 1 << 28  # bytes of weights of idle learners on a CPU, a rank


class Kept:
    """The data sets and learners of one rank, least recently used first. Collective over `comm`.

    Ranks keep and give up the same: whether memory is short on any of them, or loading drew on any, is agreed on.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self._devices: dict[str, torch.device] = {}
        self._checked: set[bool] = set()
        self._loaded: dict[tuple[str, str, torch.device, int | None], Loaded] = {}
        self._learners: dict[Hashable, Learner] = {}
        self._memory: Pool | None = None
        self._grids: dict[tuple[int, torch.device], ProcessGrid] = {}

    def __len__(self) -> int:
        """How many data sets and learners are kept."""
        return len(self._loaded) + len(self._learners)

    def device(self, wanted: str) -> torch.device:
        """`choose_device` for this rank, asked once."""
        if wanted not in self._devices:
            self._devices[wanted] = choose_device(wanted, self._comm)
        use_device(self._devices[wanted])
        return self._devices[wanted]

    def grid(self, channels: int, device: torch.device) -> ProcessGrid:
        """The ranks in rows of `channels`, made once, since an MPI has only so many communicators.

        Raises:
            GridError: ranks share a GPU.
        """
        found = self._grids.get((channels, device))
        if found is None:
            found = ProcessGrid(self._comm, self._comm.size // channels, device)
            self._grids[channels, device] = found
        return found

    def check_operators(self, *, cuda: bool) -> None:
        """`engine.operators.check_operators`, asked once: it reads all sources."""
        if cuda not in self._checked:
            check_operators(cuda=cuda)
            self._checked.add(cuda)

    def has_kernels(self, device: torch.device) -> bool:
        """Whether the compiled operators have kernels for this device."""
        if device.type != "cuda":
            return False
        try:
            self.check_operators(cuda=True)
        except OperatorsError:
            return False
        return True

    def loaded(self, name: str, split: str, device: torch.device, seed: int) -> Loaded:
        """A split of a data set, its batches on `device`.

        One of the user's own is kept for trials of the same seed, and only if loading it draws no random numbers.
        Raises what `engine.data.load` raises.
        """
        own = is_factory(name)
        key = (name, split, device, seed if own else None)
        found = self._loaded.pop(key, None)
        if found is None:
            if own:
                self._forget_data(*key[:3])
            before = _random_states() if own else None
            data = load(name, split)
            lasting = before is None or self._comm.allreduce(before == _random_states(), MPI.LAND)
            found = Loaded(data, _batches(data, device), lasting)
        if found.lasting:
            self._loaded[key] = found
        return found

    def learner(
        self, shape: Hashable | None, loaded: Loaded, device: torch.device, make: Callable[[Pool | None], Learner]
    ) -> Learner:
        """The learner of a shape, made if there is none. Without a shape, one is made each time and not kept.

        Before one is made, others go for as long as too little memory is free, and then data sets but the trial's own.
        """
        found = self._learners.pop(shape, None)
        if found is None:
            self._make_room(device, loaded)
            if not self._learners:
                self._memory = None  # nobody records into the pool of before any more
            if device.type == "cuda" and self._memory is None:
                self._memory = torch.cuda.graph_pool_handle()
            found = make(self._memory)
            if found.config.compile:
                self._forget_compiled()
        if shape is not None:
            self._learners[shape] = found
        return found

    def give_back(self) -> None:
        """Forget all. Not collective: for one rank alone, whose memory is full."""
        self._learners.clear()
        self._loaded.clear()
        self._memory = None
        _collect()

    def _make_room(self, device: torch.device, using: Loaded) -> None:
        while self._comm.allreduce(self._is_short(device), MPI.LOR):
            idle = [key for key, one in self._loaded.items() if one is not using and not self._is_used(one)]
            if idle:
                del self._loaded[idle[0]]
            elif self._learners:
                del self._learners[next(iter(self._learners))]
            else:
                return
            _collect()

    def _forget_data(self, name: str, split: str, device: torch.device) -> None:
        """Data of the user's own of another seed, which may never come again, and what learns from it."""
        for key in [key for key in self._loaded if key[:3] == (name, split, device)]:
            old = self._loaded.pop(key)
            self._learners = {shape: one for shape, one in self._learners.items() if one.loaded is not old}

    def _is_used(self, loaded: Loaded) -> bool:
        return any(learner.loaded is loaded for learner in self._learners.values())

    def _is_short(self, device: torch.device) -> bool:
        if device.type != "cuda":
            return sum(4 * len(learner.flat) for learner in self._learners.values()) > _MOST_ON_HOST
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info(device)
        return torch.cuda.memory_reserved(device) > total // _SHARE_OF_GPU or free < total // _SHARE_FREE

    def _forget_compiled(self) -> None:
        """A new compiled network has had the compiler forget those before; recorded steps do not need it any more."""
        for shape, learner in [*self._learners.items()]:
            if learner.config.compile and not learner.captured:
                del self._learners[shape]


def _batches(data: DataSet, device: torch.device) -> HostBatches | ResidentBatches:
    return ResidentBatches(data, device) if device.type == "cuda" else HostBatches(data)


def _random_states() -> tuple[object, ...]:
    """Where the generators stand from which a user's program may draw."""
    numpys = np.random.get_state(legacy=False)
    return torch.get_rng_state().numpy().tobytes(), str(numpys), numpys["state"]["key"].tobytes(), random.getstate()


def _collect() -> None:
    gc.collect()  # learners and their recorded steps know each other
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()
