"""One trial on one rank: its steps, its evaluations, what it needs to be gone on with."""

from __future__ import annotations

import hashlib
import os
import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from mpi4py import MPI
from numpy.typing import NDArray

from engine.captured import Pool
from engine.channel_parallel.grid import ProcessGrid
from engine.channel_parallel.tasks import split_for
from engine.checkpoint import copy_into
from engine.config import TrainingConfig, is_factory
from engine.data import DataSet
from engine.data.shards import Stream
from engine.device import describe
from engine.evaluation import Evaluator, Quality, averaged
from engine.kept import Kept
from engine.learner import Learner, shape_of
from engine.models import Task, build
from engine.operators import needs_operators
from engine.phases import COMPUTE, Now, Phases, timeline_of
from engine.precision import choose_precision, set_products
from engine.sample_groups import SampleGroup
from engine.schedule import rate_of

_INITIAL = 1  # tells the draws of initial weights from those of later ones


class Run:
    """One trial on one rank, from its set-up to its last step. Collective over `comm`.

    What an earlier trial has left in `kept` is used where it fits. The curve does not depend on it.
    """

    def __init__(
        self, config: TrainingConfig, comm: MPI.Comm, now: Now = time.perf_counter, kept: Kept | None = None
    ) -> None:
        self.config, self.comm = config, comm
        kept = Kept(comm) if kept is None else kept
        self.device = kept.device(config.device)
        self.group = SampleGroup.of(comm.rank, comm.size, config.parallel.channels)
        wanted = _of_parts(config.precision) if self.group.shares_layers else config.precision
        self.precision = choose_precision(wanted, self.device)
        set_products(self.precision)
        self._on_gpu = self.device.type == "cuda"
        if needs_operators(config):
            kept.check_operators(cuda=self._on_gpu)
        _seed_all(config.seed)  # before loading: a data set of the user's own may draw, and all ranks alike
        loaded = kept.loaded(config.data, "train", self.device, config.seed)
        self.budget = config.budget(comm.size, len(loaded.data))
        self._stream = Stream(len(loaded.data), config.seed, config.augmentation.instances)
        self._copies = config.augmentation.copies
        # Compiled operators compute whole layers, so parts are torch's.
        built = config.model_copy(update={"fc": "torch"}) if self.group.shares_layers else config
        task = _build(built, loaded.data, comm.rank)
        self._parameters = sum(one.numel() for one in task.module.parameters() if one.requires_grad)
        if self.group.shares_layers:
            task = self._split(task, loaded.data, kept.grid(config.parallel.channels, self.device))
        has_full_steps = self.budget.full_steps > 0

        def make(memory: Pool | None) -> Learner:
            phases = Phases(timeline_of(self.device, now), detailed=config.phases == "detailed", now=now)
            settings = (config, comm, self.device, self.precision, task, loaded, phases)
            fused = kept.has_kernels(self.device)
            return Learner(*settings, group=self.group, has_full_steps=has_full_steps, fused=fused, memory=memory)

        # A network of the user's own may hold more than its tensors show.
        lasting = loaded.lasting and not is_factory(config.model)
        own_seed = config.seed if is_factory(config.data) else None
        shape = (shape_of(config, has_full_steps=has_full_steps), own_seed) if lasting else None
        self._learner = kept.learner(shape, loaded, self.device, make)
        self._learner.begin(config, task, self._listed)
        self.flat, self.phases, self.exchange = self._learner.flat, self._learner.phases, self._learner.exchange
        self.loss_sum = self._learner.loss_sum
        self._evaluator = self._make_evaluator(kept) if config.evaluate_every else None

    def warm_up(self) -> None:
        """Have the learner warm, and the random state be what it is after that."""
        self._learner.warm_up(*self._share_of(0), self._images_of(0))
        # What ranks draw for themselves, as dropout does, differs; and it does not depend on what warming up drew.
        # Ranks that share layers draw the same masks for all samples, of which each uses its part.
        _seed_all(_drawn_seed(self.config.seed, 0 if self.group.shares_layers else self.comm.rank))

    def step(self, step: int) -> None:
        """One step of all ranks; adds this rank's share of its loss, summed over images, to `loss_sum`."""
        self.phases.enter(COMPUTE)
        learner = self._learner
        learner.optimizer.set_rate(rate_of(self.config, step, self.budget.steps, self.group.groups))
        combine, is_full = self.combines(step), step < self.budget.full_steps
        if learner.captured and is_full:
            learner.captured.run(step, self.budget.full_steps, combine)
            if self.exchange.on_device:
                return
        else:
            learner.compute(*self._share_of(step), self._images_of(step), fast=is_full)
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
        with averaged(self.flat, self._learner.module, self.comm):
            return self._evaluator()

    def state(self) -> dict[str, Any]:
        """What this rank needs to go on after a step: tensors of its own, by name."""
        random = {"cuda": torch.cuda.get_rng_state(self.device)} if self._on_gpu else {}
        return {
            "tensors": [tensor.detach().clone() for tensor in self._learner.state()],
            "random": {"cpu": torch.get_rng_state(), **random},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be as when `state` was taken."""
        copy_into(self._learner.state(), state["tensors"])
        torch.set_rng_state(state["random"]["cpu"].cpu())
        if self._on_gpu:
            torch.cuda.set_rng_state(state["random"]["cuda"].cpu(), self.device)

    def synchronise(self) -> None:
        """Wait for what the device still has to do."""
        if self._on_gpu:
            torch.cuda.synchronize(self.device)

    def digest(self) -> str:
        """Tells apart runs whose checkpoints do not fit each other."""
        # A network in one part has the digests of before there could be several.
        left_out = {"checkpoint_every"} | (set() if self.group.shares_layers else {"parallel"})
        settings = self.config.model_dump_json(exclude=left_out)
        lie = f"{len(self.flat)} {self.flat.orders} {len(self._learner.optimizer.state())}"
        return hashlib.sha256(f"{settings} {self.comm.size} {self.budget.images} {lie}".encode()).hexdigest()

    def effective(self) -> dict[str, Any]:
        """What the engine made of the settings, for the record."""
        return {
            **describe(self.device),
            "threads": torch.get_num_threads(),
            "cores": sorted(os.sched_getaffinity(0)),
            "parameters": self._parameters,
            "global_batch": self.budget.batch,
            **({"instances": self.budget.batch * self._copies} if self._copies > 1 else {}),
            "images": self.budget.images,
            "steps": self.budget.steps,
            "exchange": self._exchange_in_words(),
            **self._parts_in_words(),
            **self._curve_in_words(),
            "messages": self.exchange.staging,
            "precision": self.precision,
            "captured": self._learner.captured is not None,
        }

    def _share_of(self, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Samples [n] of this rank's share of a step, and their places in the run's stream of samples or instances."""
        start, stop = self.budget.images_after(step - 1), self.budget.images_after(step)
        first, end = self.group.share(start, stop)
        positions = np.arange(first * self._copies, end * self._copies)
        return self._stream.at(positions), positions

    def _images_of(self, step: int) -> int:
        """Images of a step of all ranks."""
        return self.budget.images_after(step) - self.budget.images_after(step - 1)

    def _listed(self, first: int, end: int) -> NDArray[np.int64]:
        """Samples and positions of this rank's shares of full steps, [end - first, 2, local]."""
        batch = self.budget.batch * self._copies
        begin, stop = (edge * self._copies for edge in self.group.share(0, self.budget.batch))
        positions = np.arange(first * batch, end * batch).reshape(end - first, batch)
        samples = self._stream.indices(first * batch, end * batch).reshape(end - first, batch)
        return np.stack([samples[:, begin:stop], positions[:, begin:stop]], axis=1)

    def _make_evaluator(self, kept: Kept) -> Evaluator:
        test, learner = kept.loaded(self.config.data, "test", self.device, self.config.seed), self._learner
        settings = (self.comm, self.group, self.device, self.precision)
        return Evaluator(learner.task, test.batches, len(test.data), *settings)

    def _exchange_in_words(self) -> str:
        every = self.config.exchange.every
        if self.comm.size == 1:
            return "none, one worker"
        if self.group.shares_layers:
            return f"{self._learner.method}, gradients summed"
        when = f" every {every} steps" if every > 1 else ""
        own = ", from initial weights of each rank's own" if self.config.exchange.start == "own" else ""
        how = ", overlapped with the backward pass" if self.exchange.overlapped else ""
        return f"{self._learner.method}, {self.config.exchange.average} averaged{when}{own}{how}"

    def _split(self, task: Task, data: DataSet, grid: ProcessGrid) -> Task:
        """The task with this rank's part of the network."""
        module = split_for(task.module, self.config.parallel, grid, data.sample_shape, self.budget.batch)
        return replace(task, module=module)

    def _parts_in_words(self) -> dict[str, str]:
        if not self.group.shares_layers:
            return {}
        return {"parallel": f"layers in {self.config.parallel.channels} parts, samples in {self.group.groups}"}

    def _curve_in_words(self) -> dict[str, str]:
        if self.comm.size == 1 or not self.config.exchange.weights_differ:
            return {}
        until = "" if self.config.exchange.every > 1 else " until the first average"
        return {
            "losses": f"mean of the workers' own, each with its own weights{until}",
            "evaluations": "of the averaged weights",
        }


def _of_parts(precision: str) -> str:
    """Layers in parts compute in the type of their weights."""
    return "tf32" if precision == "auto" else precision


def _seed_all(seed: int) -> None:
    """Seed every generator from which the user's own model or data may draw."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def _drawn_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def _build(config: TrainingConfig, data: DataSet, rank: int) -> Task:
    """The network; where ranks start from weights of their own, rank 0 has those that all have otherwise.

    The test set is loaded later and may draw, too: ranks go on drawing alike, whatever their weights took.
    """
    if config.exchange.start == "shared":
        return build(config, data)
    if rank:
        _seed_all(_drawn_seed(config.seed, rank, _INITIAL))
    task = build(config, data)
    _seed_all(config.seed)
    return task
