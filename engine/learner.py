"""A network and what makes it learn on this rank: made once for trials of one shape, and used by one after another."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import torch
from mpi4py import MPI
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.augmentation import Augmentation
from engine.batches import Loaded, ResidentBatches
from engine.captured import CapturedSteps, Listed, Pool
from engine.checkpoint import copy_into
from engine.compiled import compiled
from engine.config import OF_A_RUN, TrainingConfig
from engine.data import DataSet
from engine.errors import DataError
from engine.exchange import Alone, Exchange, chosen_method, make_exchange
from engine.flat import FlatParameters
from engine.models import Task
from engine.optimizer import Sgd
from engine.phases import COMPUTE, STEP, Phases
from engine.precision import casting
from engine.sample_groups import SampleGroup

_WARM_UP_STEPS = 2


def shape_of(config: TrainingConfig, *, has_full_steps: bool) -> Hashable:
    """What trials have in common that one learner can serve."""
    return (config.model_dump_json(exclude=set(OF_A_RUN)), config.momentum > 0, has_full_steps)


class Learner:
    """Network, gradients, optimizer, exchange, and on a GPU its recorded step. Collective over `comm`.

    `begin` makes it as new for a trial, whose curve then does not depend on what it has learned before. `fused` asks
    for the compiled operators' SGD and augmentation. `group` says who has samples together with this rank. `memory` is
    the memory pool of recorded steps on a GPU.
    """

    def __init__(
        self,
        config: TrainingConfig,
        comm: MPI.Comm,
        device: torch.device,
        precision: str,
        task: Task,
        loaded: Loaded,
        phases: Phases,
        *,
        group: SampleGroup,
        has_full_steps: bool,
        fused: bool,
        memory: Pool | None = None,
    ) -> None:
        self.config, self.comm, self.device, self.precision = config, comm, device, precision
        self.task, self.phases = task, phases
        self.loaded, self._group, self._has_full_steps = loaded, group, has_full_steps
        self.module = task.module.to(device)
        _lay_out(self.module)
        self.flat = FlatParameters(self.module)
        self.optimizer = Sgd(self.flat, momentum=config.momentum > 0, fused=fused)
        self.method, self.exchange = self._make_exchange()
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        self._copies = config.augmentation.copies
        self._augmentation = self._make_augmentation(loaded.data, fused=fused)
        self._fast = compiled(self.module) if config.compile else self.module
        self.captured = self._make_captured(memory) if has_full_steps else None
        self._is_warm = False
        if self.captured and self.exchange.on_device and not phases.detailed:
            phases.merge([COMPUTE, "all-reduce", "update"], STEP)  # a graph is not cut, and events cost time

    def begin(self, config: TrainingConfig, task: Task, listed: Listed) -> None:
        """Be as new for a trial of this shape, whose network was drawn as `task`; `listed` is `CapturedSteps`'s."""
        self.config = config
        if task is not self.task:
            copy_into([*self.module.parameters()], [*task.module.parameters()])
            copy_into([*self.module.buffers()], [*task.module.buffers()])
        self.flat.gradients.zero_()
        self.optimizer.begin(config.momentum, config.weight_decay)
        if self._augmentation:
            self._augmentation.begin(config.seed)
        self.loss_sum.zero_()
        self.phases.clear()
        if config.exchange.start == "shared":
            self.exchange.start()
        if self.captured:
            self.captured.begin(listed)

    def warm_up(self, samples: NDArray[np.int64], positions: NDArray[np.int64], images: int) -> None:
        """Compute and exchange without learning, so that what is made on first use is made off the clock.

        It takes a step's own samples and positions [n] on this rank, and its `images` on all ranks; nothing is left to
        be done where that was done before.
        """
        if self._is_warm:
            return
        buffers = [*self.module.buffers()]
        kept = [buffer.clone() for buffer in buffers]
        for _ in range(_WARM_UP_STEPS):
            self.compute(samples, positions, images, fast=self._has_full_steps)
            self.exchange.warm_up()
        if self.captured:
            self.captured.capture([True] if self.config.exchange.every == 1 else [True, False])
        copy_into(buffers, kept)
        self.loss_sum.zero_()
        self._is_warm = True

    def compute(self, samples: NDArray[np.int64], positions: NDArray[np.int64], images: int, *, fast: bool) -> None:
        """Gradients of this rank's samples [n], at these positions [n] of the run, of a step of so many `images`.

        `fast` where the step is full, which kernels may have been made for.
        """
        if not len(samples) and not self._group.shares_layers:  # those who share them go through all of them together
            self.flat.gradients.zero_()
            return
        inputs, targets = self.loaded.batches.get(samples)
        if self._augmentation:
            inputs = self._augmentation(inputs, torch.from_numpy(positions).to(self.device))
        self._learn(self._fast if fast else self.module, inputs, targets, images)

    def state(self) -> list[Tensor]:
        """The tensors that steps change, besides what they compute anew."""
        return [self.flat.weights, *self.optimizer.state(), *self.module.buffers()]

    def _learn(self, module: nn.Module, inputs: Tensor, targets: Tensor, images: int) -> None:
        """Gradients of a share of a step of `images` images, each of which is computed in so many copies.

        The share's loss is scaled by ranks / copies of the step's images: the mean over ranks is then the gradient of
        the mean loss over all of them, also where the shares are not equal. Layers that ranks share sum up gradients
        instead of averaging them. An image's loss is the mean of its copies'.
        """
        averaged = 1 if self._group.shares_layers else self.comm.size
        with casting(self.precision, self.device):
            loss = self.task.loss_sum(module(inputs), targets)
        self.flat.compute_gradients(loss, torch.full_like(loss, averaged / (images * self._copies)))
        self.loss_sum += loss.detach() if self._copies == 1 else loss.detach() / self._copies

    def _make_exchange(self) -> tuple[str, Exchange]:
        """The method by which gradients are combined, and what does so."""
        if self._group.shares_layers:
            return "layer by layer", Alone(self.optimizer, self.phases, "direct")
        how = self.config.exchange
        method = chosen_method(how, self.comm, self.flat)
        exchange = make_exchange(
            method,
            how.average,
            self.comm,
            self.flat,
            self.optimizer,
            self.phases,
            overlap=how.overlap,
            algorithm=how.algorithm,
        )
        return method, exchange

    def _make_augmentation(self, data: DataSet, *, fused: bool) -> Augmentation | None:
        if not self.config.augmentation.changes_pictures:
            return None
        if not data.pictures:
            raise DataError(f"trial.augmentation: is of pictures, and data {data.name} has none", "remove it")
        return Augmentation(self.config.augmentation, self.config.seed, self.device, fused=fused)

    def _make_captured(self, memory: Pool | None) -> CapturedSteps | None:
        """Full steps on a GPU as a graph, with the exchange where that stays on the GPU; not of layers in parts."""
        resident, batch = self.loaded.batches, self.config.global_batch(self.comm.size)
        local = len(range(*self._group.share(0, batch))) * self._copies
        if not isinstance(resident, ResidentBatches) or batch < self.comm.size or self._group.shares_layers:
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

        return CapturedSteps(body, local, self.device, [*self.state(), self.loss_sum], self.phases, memory)


def _lay_out(module: nn.Module) -> None:
    """Have the weights of convolutions over pictures lie in memory as the pictures do: channels last."""
    for parameter in module.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
