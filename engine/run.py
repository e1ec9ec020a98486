"""What a rank has for one trial: data, network, optimiser, exchange; and a step of it."""

from __future__ import annotations

import hashlib
import math
import os
import time
from typing import Any

import numpy as np
import torch
from mpi4py import MPI
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.augmentation import Augmentation
from engine.batches import Batches, HostBatches, ResidentBatches
from engine.captured import CapturedSteps
from engine.checkpoint import copy_into
from engine.compiled import compiled
from engine.config import TrainingConfig
from engine.data import DataSet, load
from engine.data.shards import Stream, share
from engine.device import choose_device, describe
from engine.errors import DataError
from engine.evaluation import Evaluator, Quality, averaged
from engine.exchange import chosen_method, make_exchange
from engine.flat import FlatParameters
from engine.models import Task, build
from engine.operators import check_operators, needs_operators
from engine.optimizer import make_optimizer, set_rate, velocities
from engine.phases import COMPUTE, STEP, Now, Phases, timeline_of
from engine.precision import casting, choose_precision, set_products
from engine.schedule import rate_of

_WARM_UP_STEPS = 2
_INITIAL = 1  # tells the draws of initial weights from those of later ones


class Run:
    """One trial on one rank, from its set-up to its last step. Collective over `comm`."""

    def __init__(self, config: TrainingConfig, comm: MPI.Comm, now: Now = time.perf_counter) -> None:
        self.config, self.comm = config, comm
        self.device = choose_device(config.device, comm)
        self.precision = choose_precision(config.precision, self.device)
        set_products(self.precision)
        self._on_gpu = self.device.type == "cuda"
        if needs_operators(config):
            check_operators(cuda=self._on_gpu)
        torch.manual_seed(config.seed)  # before loading: a data set of the user's own may draw, and all ranks alike
        data = load(config.data)
        self.budget = config.budget(comm.size, len(data))
        self._task = _build(config, data, comm.rank)
        self._module = self._task.module.to(self.device)
        _lay_out(self._module)
        self.flat = FlatParameters(self._module)
        self.phases = Phases(timeline_of(self.device, now), detailed=config.phases == "detailed", now=now)
        self._optimizer = make_optimizer(config, self.flat)
        self._rate = math.nan
        self._method = chosen_method(config.exchange, comm, self.flat)
        self.exchange = make_exchange(
            self._method,
            config.exchange.average,
            comm,
            self.flat,
            self._optimizer,
            self.phases,
            overlap=config.exchange.overlap,
        )
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        if config.exchange.start == "shared":
            self.exchange.start()
        self._stream = Stream(len(data), config.seed, config.augmentation.instances)
        self._copies = config.augmentation.copies
        self._augmentation = self._make_augmentation(data)
        self._batches = self._on_device(data)
        self._evaluator = self._make_evaluator() if config.evaluate_every else None
        self._fast = compiled(self._module) if config.compile else self._module
        self._captured = self._make_captured()
        if self._captured and self.exchange.on_device and not self.phases.detailed:
            self.phases.merge([COMPUTE, "all-reduce", "update"], STEP)  # a graph is not cut, and events cost time

    def warm_up(self) -> None:
        """Compute and exchange without learning, so that what is made on first use is made off the clock."""
        buffers = [*self._module.buffers()]
        kept = [buffer.clone() for buffer in buffers]
        for _ in range(_WARM_UP_STEPS):
            self._compute(0)
            self.exchange.warm_up()
        if self._captured:
            every = self.config.exchange.every
            self._captured.capture([True] if every == 1 else [True, False])
        copy_into(buffers, kept)
        # What ranks draw for themselves, as dropout does, differs; and it does not depend on what warming up drew.
        torch.manual_seed(_drawn_seed(self.config.seed, self.comm.rank))
        self.loss_sum.zero_()

    def step(self, step: int) -> None:
        """One step of all ranks; adds this rank's share of its loss, summed over images, to `loss_sum`."""
        self.phases.enter(COMPUTE)
        rate = rate_of(self.config, step, self.budget.steps, self.comm.size)
        if rate != self._rate:
            set_rate(self._optimizer, rate)
            self._rate = rate
        combine = self.combines(step)
        if self._captured and step < self.budget.full_steps:
            self._captured.run(step, self.budget.full_steps, combine)
            if self.exchange.on_device:
                return
        else:
            self._compute(step)
        self.exchange.step(combine)

    def combines(self, step: int) -> bool:
        """Whether the weights are the same on every rank after this step."""
        return (step + 1) % self.config.exchange.every == 0 or step + 1 == self.budget.steps

    def evaluate(self, step: int) -> Quality:
        """The network after this step on the test set: where the weights differ by rank, that of their mean.

        Collective, and for a run that was asked to evaluate. Each rank goes on as if it had not.
        """
        assert self._evaluator
        if self.comm.size == 1 or self.combines(step):
            return self._evaluator()
        with averaged(self.flat, self._module, self.comm):
            return self._evaluator()

    def state(self) -> dict[str, Any]:
        """What this rank needs to go on after a step: tensors of its own, by name."""
        random = {"cuda": torch.cuda.get_rng_state(self.device)} if self._on_gpu else {}
        return {
            "tensors": [tensor.detach().clone() for tensor in self._tensors()],
            "random": {"cpu": torch.get_rng_state(), **random},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be as when `state` was taken."""
        copy_into(self._tensors(), state["tensors"])
        torch.set_rng_state(state["random"]["cpu"].cpu())
        if self._on_gpu:
            torch.cuda.set_rng_state(state["random"]["cuda"].cpu(), self.device)

    def synchronise(self) -> None:
        """Wait for what the device still has to do."""
        if self._on_gpu:
            torch.cuda.synchronize(self.device)

    def digest(self) -> str:
        """Tells apart runs whose checkpoints do not fit each other."""
        settings = self.config.model_dump_json(exclude={"checkpoint_every"})
        lie = f"{len(self.flat)} {self.flat.orders} {len(velocities(self._optimizer))}"
        return hashlib.sha256(f"{settings} {self.comm.size} {self.budget.images} {lie}".encode()).hexdigest()

    def effective(self) -> dict[str, Any]:
        """What the engine made of the settings, for the record."""
        return {
            **describe(self.device),
            "threads": torch.get_num_threads(),
            "cores": sorted(os.sched_getaffinity(0)),
            "parameters": len(self.flat),
            "global_batch": self.budget.batch,
            **({"instances": self.budget.batch * self._copies} if self._copies > 1 else {}),
            "images": self.budget.images,
            "steps": self.budget.steps,
            "exchange": self._exchange_in_words(),
            **self._curve_in_words(),
            "messages": self.exchange.staging,
            "precision": self.precision,
            "captured": self._captured is not None,
        }

    def _tensors(self) -> list[Tensor]:
        return [self.flat.weights, *velocities(self._optimizer), *self._module.buffers()]

    def _compute(self, step: int) -> None:
        """Gradients of this rank's share of a step."""
        positions = self._positions(step)
        if not len(positions):
            self.flat.gradients.zero_()
            return
        module = self._fast if step < self.budget.full_steps else self._module
        inputs, targets = self._batches.get(self._stream.at(positions))
        if self._augmentation:
            inputs = self._augmentation(inputs, torch.from_numpy(positions).to(self.device))
        self._learn(module, inputs, targets, self.budget.images_after(step) - self.budget.images_after(step - 1))

    def _learn(self, module: nn.Module, inputs: Tensor, targets: Tensor, images: int) -> None:
        """Gradients of a share of a step of `images` images, each of which is computed in so many copies.

        The share's loss is scaled by ranks / copies of the step's images: the mean over ranks is then the gradient of
        the mean loss over all of them, also where the shares are not equal. An image's loss is the mean of its copies'.
        """
        with casting(self.precision, self.device):
            loss = self._task.loss_sum(module(inputs), targets)
        self.flat.compute_gradients(loss, torch.full_like(loss, self.comm.size / (images * self._copies)))
        self.loss_sum += loss.detach() if self._copies == 1 else loss.detach() / self._copies

    def _positions(self, step: int) -> NDArray[np.int64]:
        """Where in the run's stream of samples, or of their instances, this rank's share of a step lies."""
        start, stop = self.budget.images_after(step - 1), self.budget.images_after(step)
        first, end = share(start, stop, self.comm.rank, self.comm.size)
        return np.arange(first * self._copies, end * self._copies)

    def _on_device(self, data: DataSet) -> Batches:
        return ResidentBatches(data, self.device) if self._on_gpu else HostBatches(data)

    def _make_augmentation(self, data: DataSet) -> Augmentation | None:
        if not self.config.augmentation.changes_pictures:
            return None
        if not data.pictures:
            raise DataError(f"trial.augmentation: is of pictures, and data {data.name} has none", "remove it")
        return Augmentation(self.config.augmentation, self.config.seed, self.device)

    def _make_evaluator(self) -> Evaluator:
        data = load(self.config.data, "test")
        return Evaluator(self._task, self._on_device(data), len(data), self.comm, self.device, self.precision)

    def _make_captured(self) -> CapturedSteps | None:
        """Full steps on a GPU as a graph, with the exchange where that stays on the GPU."""
        resident, batch = self._batches, self.budget.batch
        local = len(range(*share(0, batch, self.comm.rank, self.comm.size))) * self._copies
        if not isinstance(resident, ResidentBatches) or not self.budget.full_steps or batch < self.comm.size:
            return None
        if self.phases.detailed and self.exchange.overlapped:
            return None  # a graph cannot be cut while buckets are on their way

        def body(samples: Tensor, positions: Tensor, combine: bool) -> None:
            inputs, targets = resident.select(samples)
            if self._augmentation:
                inputs = self._augmentation(inputs, positions)
            self._learn(self._fast, inputs, targets, batch)
            if self.exchange.on_device:
                self.exchange.step(combine)

        def listed(step: int) -> NDArray[np.int64]:
            positions = self._positions(step)
            return np.stack([self._stream.at(positions), positions])

        return CapturedSteps(body, listed, local, self.device, [*self._tensors(), self.loss_sum], self.phases)

    def _exchange_in_words(self) -> str:
        every = self.config.exchange.every
        if self.comm.size == 1:
            return "none, one worker"
        when = f" every {every} steps" if every > 1 else ""
        own = ", from initial weights of each rank's own" if self.config.exchange.start == "own" else ""
        how = ", overlapped with the backward pass" if self.exchange.overlapped else ""
        return f"{self._method}, {self.config.exchange.average} averaged{when}{own}{how}"

    def _curve_in_words(self) -> dict[str, str]:
        if self.comm.size == 1 or not self.config.exchange.weights_differ:
            return {}
        until = "" if self.config.exchange.every > 1 else " until the first average"
        return {
            "losses": f"mean of the workers' own, each with its own weights{until}",
            "evaluations": "of the averaged weights",
        }


def _drawn_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def _build(config: TrainingConfig, data: DataSet, rank: int) -> Task:
    """The network; where ranks start from weights of their own, rank 0 has those that all have otherwise.

    The test set is loaded later and may draw, too: ranks go on drawing alike, whatever their weights took.
    """
    if config.exchange.start == "shared":
        return build(config, data)
    if rank:
        torch.manual_seed(_drawn_seed(config.seed, rank, _INITIAL))
    task = build(config, data)
    torch.manual_seed(config.seed)
    return task


def _lay_out(module: nn.Module) -> None:
    """Have the weights of convolutions over pictures lie in memory as the pictures do: channels last."""
    for parameter in module.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
