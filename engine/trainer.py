"""The training loop: the same on every rank, reporting on rank 0."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mpi4py import MPI
from torch import Tensor

from engine.config import TrainingConfig
from engine.data import DataSet, load
from engine.data.shards import Stream, share
from engine.device import choose_device, describe
from engine.exchange import make_exchange
from engine.flat import FlatParameters
from engine.models import build
from engine.operators import check_operators, needs_operators
from engine.phases import Phases
from engine.protocol import Ended, Point, Started

Report = Callable[[Started | Point | Ended], None]
_WARM_UP_STEPS = 2


@dataclass(frozen=True)
class _Window:
    """What all ranks agree on at a loss point: the mean loss, and whether somebody asked to stop."""

    loss: float
    stop: bool


def train(
    trial: str, config: TrainingConfig, comm: MPI.Comm, report: Report, stop_asked: Callable[[], bool] = lambda: False
) -> None:
    """Train one trial to its end, its divergence, or the loss point after `stop_asked` turns true on rank 0.

    Collective over `comm`. `report` is called on rank 0 only. Raises DataError where the data cannot be had, and
    whatever torch or MPI raise: the caller must then end the job, since other ranks wait.
    """
    begun = time.perf_counter()
    run = _Run(config, comm)
    run.warm_up()
    comm.Barrier()
    if comm.rank == 0:
        report(Started(trial, time.perf_counter() - begun, run.effective()))
    _Loop(trial, run, report, stop_asked).to_the_end()


class _Run:
    """Data, network, optimiser and exchange of one trial on one rank."""

    def __init__(self, config: TrainingConfig, comm: MPI.Comm) -> None:
        self.config, self.comm = config, comm
        self.device = choose_device(config.device, comm)
        if needs_operators(config):
            check_operators(cuda=self.device.type == "cuda")
        torch.manual_seed(config.seed)
        self.data = load(config.data)
        self._task = build(config, self.data)
        self._task.module.to(self.device)
        self.flat = FlatParameters(self._task.module)
        self.phases = Phases()
        optimizer = torch.optim.SGD(
            [self.flat.optimizable()],
            lr=config.learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        )
        self.exchange = make_exchange(config.exchange, comm, self.flat, optimizer, self.phases)
        self._stream = Stream(len(self.data), config.seed)
        self._batches = _Batches(self.data, self.device)
        self.exchange.start()

    def warm_up(self) -> None:
        """Compute and exchange without learning, so that what is made on first use is made off the clock."""
        for _ in range(_WARM_UP_STEPS):
            self.compute(0)
            self.exchange.warm_up()
        self.phases.reset()

    def compute(self, step: int) -> Tensor:
        """Gradients of this rank's share of a step; returns the share's summed loss, a float64 scalar.

        The share's loss is scaled by ranks / images of the step: the mean over ranks is then the gradient of the mean
        loss over all of the step's images, also where the shares are not equal.
        """
        config, comm = self.config, self.comm
        batch = config.global_batch(comm.size)
        start, stop = step * batch, min((step + 1) * batch, config.images)
        indices = self._stream.indices(*share(start, stop, comm.rank, comm.size))
        self.flat.gradients.zero_()
        if not len(indices):
            return torch.zeros((), dtype=torch.float64, device=self.device)
        inputs, targets = self._batches.get(indices)
        loss = self._task.loss_sum(self._task.module(inputs), targets)
        torch.autograd.backward(loss * (comm.size / (stop - start)))
        return loss.detach().double()

    def effective(self) -> dict[str, Any]:
        """What the engine made of the settings, for the record."""
        config, ranks = self.config, self.comm.size
        return {
            **describe(self.device),
            "threads": torch.get_num_threads(),
            "parameters": len(self.flat),
            "global_batch": config.global_batch(ranks),
            "steps": config.steps(ranks),
            "exchange": f"{config.exchange.method}, {config.exchange.average} averaged",
        }


class _Loop:
    """The clocked part of a trial."""

    def __init__(self, trial: str, run: _Run, report: Report, stop_asked: Callable[[], bool]) -> None:
        self._trial, self._run, self._report, self._stop_asked = trial, run, report, stop_asked
        self._steps = run.config.steps(run.comm.size)
        self._every = run.config.report_every(run.comm.size)
        self._begun = time.perf_counter()

    def to_the_end(self) -> None:
        """Step, report, and say how it ended."""
        run = self._run
        reported = 0
        loss_sum = torch.zeros((), dtype=torch.float64, device=run.device)
        for step in range(self._steps):
            with run.phases("compute"):
                loss_sum += run.compute(step)
            run.exchange.step()
            if (step + 1) % self._every and step + 1 != self._steps:
                continue
            images = min((step + 1) * run.config.global_batch(run.comm.size), run.config.images)
            window = self._agree(loss_sum, images - reported)
            self._report_point(step + 1, images, window.loss)
            if not math.isfinite(window.loss):
                self._report_end("diverged", step + 1, images, f"loss is {window.loss} at step {step + 1}")
                return
            if window.stop and step + 1 != self._steps:
                self._report_end("stopped", step + 1, images)
                return
            reported = images
            loss_sum.zero_()
        self._report_end("completed", self._steps, run.config.images)

    def _agree(self, loss_sum: Tensor, images: int) -> _Window:
        with self._run.phases("report"):
            asked = self._run.comm.rank == 0 and self._stop_asked()
            mine = np.array([loss_sum.item(), float(asked)])
            everyones = np.empty_like(mine)
            self._run.comm.Allreduce(mine, everyones)
            return _Window(loss=float(everyones[0]) / images, stop=bool(everyones[1]))

    def _report_point(self, step: int, images: int, loss: float) -> None:
        if self._run.comm.rank == 0:
            self._report(Point(self._trial, step, images, time.perf_counter() - self._begun, loss))

    def _report_end(self, outcome: str, steps: int, images: int, reason: str = "") -> None:
        if self._run.comm.rank == 0:
            seconds = time.perf_counter() - self._begun
            phases = dict(self._run.phases.totals)
            self._report(Ended(self._trial, outcome, steps, images, seconds, phases, reason))


class _Batches:
    """Samples of a data set as a network's input on its device."""

    def __init__(self, data: DataSet, device: torch.device) -> None:
        self._inputs, self._targets, self._device = data.inputs, data.targets, device
        shape = (1, -1, 1, 1)
        self._scale = torch.tensor([1 / (255 * s) for s in data.std], device=device).view(shape) if data.std else None
        shift = [m / s for m, s in zip(data.mean, data.std, strict=True)]
        self._shift = torch.tensor(shift, device=device).view(shape) if data.std else None

    def get(self, indices: np.ndarray) -> tuple[Tensor, Tensor]:
        """Inputs float32 [n, ...] (pictures normalised, channels last in memory) and targets of these samples."""
        inputs = torch.from_numpy(self._inputs[indices]).to(self._device)
        targets = torch.from_numpy(self._targets[indices]).to(self._device)
        if self._scale is None or self._shift is None:
            return inputs, targets
        pictures = inputs.to(torch.float32, memory_format=torch.channels_last)
        return pictures.mul_(self._scale).sub_(self._shift), targets
