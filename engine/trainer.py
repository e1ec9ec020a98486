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
from numpy.typing import NDArray
from torch import Tensor

from engine.batches import Batches, HostBatches, ResidentBatches, gpu_layout
from engine.captured import CapturedSteps
from engine.config import TrainingConfig
from engine.data import load
from engine.data.shards import Stream, share
from engine.device import choose_device, describe
from engine.exchange import chosen_method, make_exchange
from engine.flat import FlatParameters
from engine.models import build
from engine.operators import check_operators, needs_operators
from engine.optimizer import make_optimizer, set_rate, velocities
from engine.phases import Phases
from engine.precision import casting, choose_precision, set_products
from engine.protocol import Ended, Point, Started
from engine.schedule import rate_of

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
        self.precision = choose_precision(config.precision, self.device)
        set_products(self.precision)
        if needs_operators(config):
            check_operators(cuda=self.device.type == "cuda")
        torch.manual_seed(config.seed)
        self.data = load(config.data)
        self._task = build(config, self.data)
        self._task.module.to(self.device)
        if self.device.type == "cuda":
            self._task.module.to(memory_format=gpu_layout(self.precision))  # type: ignore[call-overload]
        self.flat = FlatParameters(self._task.module)
        self.phases = Phases()
        self._optimizer = make_optimizer(config, self.flat)
        self._rate = math.nan
        self._method = chosen_method(config.exchange, comm, self.flat)
        self.exchange = make_exchange(
            self._method, config.exchange.average, comm, self.flat, self._optimizer, self.phases
        )
        self._stream = Stream(len(self.data), config.seed)
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        self.exchange.start()
        on_gpu = self.device.type == "cuda"
        self._resident = ResidentBatches(self.data, self.device, gpu_layout(self.precision)) if on_gpu else None
        self._batches: Batches = self._resident or HostBatches(self.data)
        self._captured = self._make_captured()

    def warm_up(self) -> None:
        """Compute and exchange without learning, so that what is made on first use is made off the clock."""
        for _ in range(_WARM_UP_STEPS):
            self._compute(0)
            self.exchange.warm_up()
        if self._captured:
            every = self.config.exchange.every
            self._captured.capture(self._full_steps, [True] if every == 1 else [True, False])
        self.loss_sum.zero_()
        self.phases.reset()

    def step(self, step: int) -> None:
        """One step of all ranks; adds this rank's share of its loss, summed over images, to `loss_sum`."""
        rate = rate_of(self.config, step, self.comm.size)
        if rate != self._rate:
            set_rate(self._optimizer, rate)
            self._rate = rate
        combine = (step + 1) % self.config.exchange.every == 0 or step + 1 == self.config.steps(self.comm.size)
        if self._captured and step < self._full_steps:
            with self.phases("compute"):
                self._captured.run(step, self._full_steps, combine)
            if self.exchange.on_device:
                return
        else:
            with self.phases("compute"):
                self._compute(step)
        self.exchange.step(combine)

    def _compute(self, step: int) -> None:
        """Gradients of this rank's share of a step."""
        indices = self._indices(step)
        if not len(indices):
            self.flat.gradients.zero_()
            return
        batch = self.config.global_batch(self.comm.size)
        self._learn(*self._batches.get(indices), min(batch, self.config.images - step * batch))

    def _learn(self, inputs: Tensor, targets: Tensor, images: int) -> None:
        """Gradients of a share of a step of `images` images.

        The share's loss is scaled by ranks / images of the step: the mean over ranks is then the gradient of the mean
        loss over all of the step's images, also where the shares are not equal.
        """
        with casting(self.precision, self.device):
            loss = self._task.loss_sum(self._task.module(inputs), targets)
        self.flat.compute_gradients(loss, torch.full_like(loss, self.comm.size / images))
        self.loss_sum += loss.detach()

    def _indices(self, step: int) -> NDArray[np.int64]:
        batch = self.config.global_batch(self.comm.size)
        start, stop = step * batch, min((step + 1) * batch, self.config.images)
        return self._stream.indices(*share(start, stop, self.comm.rank, self.comm.size))

    @property
    def _full_steps(self) -> int:
        return self.config.images // self.config.global_batch(self.comm.size)

    def _make_captured(self) -> CapturedSteps | None:
        """Full steps on a GPU as a graph, with the exchange where that stays on the GPU."""
        resident, batch = self._resident, self.config.global_batch(self.comm.size)
        local = len(range(*share(0, batch, self.comm.rank, self.comm.size)))
        if resident is None or not self._full_steps or batch < self.comm.size:
            return None

        def body(indices: Tensor, combine: bool) -> None:
            self._learn(*resident.select(indices), batch)
            if self.exchange.on_device:
                self.exchange.step(combine)

        state = [self.flat.weights, self.loss_sum, *velocities(self._optimizer)]
        return CapturedSteps(body, self._indices, local, self.device, state)

    def effective(self) -> dict[str, Any]:
        """What the engine made of the settings, for the record."""
        config, ranks = self.config, self.comm.size
        return {
            **describe(self.device),
            "threads": torch.get_num_threads(),
            "parameters": len(self.flat),
            "global_batch": config.global_batch(ranks),
            "steps": config.steps(ranks),
            "exchange": self._exchange_in_words(),
            "precision": self.precision,
            "captured": self._captured is not None,
        }

    def _exchange_in_words(self) -> str:
        every = self.config.exchange.every
        when = f" every {every} steps" if every > 1 else ""
        return f"{self._method}, {self.config.exchange.average} averaged{when}"


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
        for step in range(self._steps):
            run.step(step)
            if (step + 1) % self._every and step + 1 != self._steps:
                continue
            images = min((step + 1) * run.config.global_batch(run.comm.size), run.config.images)
            window = self._agree(run.loss_sum, images - reported)
            self._report_point(step + 1, images, window.loss)
            if not math.isfinite(window.loss):
                self._report_end("diverged", step + 1, images, f"loss is {window.loss} at step {step + 1}")
                return
            if window.stop and step + 1 != self._steps:
                self._report_end("stopped", step + 1, images)
                return
            reported = images
            run.loss_sum.zero_()
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
