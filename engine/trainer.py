"""The training loop: the same on every rank, reporting on rank 0."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from mpi4py import MPI
from torch import Tensor

from engine.checkpoint import Checkpoints, Moment
from engine.clock import Clock
from engine.config import TrainingConfig
from engine.exchange import Meeting
from engine.kept import Kept
from engine.phases import COMPUTE, REPORT, WAIT, Now
from engine.protocol import Ended, Evaluated, Point, Started
from engine.run import Run

Report = Callable[[Started | Point | Evaluated | Ended], None]


@dataclass(frozen=True)
class _Window:
    """What all ranks agree on at a loss point: the mean loss, and whether somebody asked to stop."""

    loss: float
    stop: bool


def train(
    trial: str,
    config: TrainingConfig,
    comm: MPI.Comm,
    report: Report,
    stop_asked: Callable[[], bool] = lambda: False,
    checkpoints: Path | None = None,
    now: Now = time.perf_counter,
    kept: Kept | None = None,
) -> None:
    """Train one trial to its end, its divergence, or the loss point after `stop_asked` turns true on rank 0.

    Collective over `comm`. `report` is called on rank 0 only. Where `config` asks for checkpoints they go to the folder
    `checkpoints`, and a trial that finds one there goes on from it: it reports again what had been reported until then.
    `now` is the clock, in seconds. `kept` is what earlier trials of this gang have left, and gets what this one leaves;
    its learners keep the clock that they were made with.

    Raises DataError where the data cannot be had, and whatever torch or MPI raise: the caller must then end the job,
    since other ranks wait.
    """
    begun = now()
    run = set_up(config, comm, Kept(comm) if kept is None else kept, now)
    saved = Checkpoints(checkpoints, comm, run.digest()) if checkpoints and config.checkpoint_every else None
    found = saved.load(run.device) if saved else None
    moment = Moment(0, 0.0)
    if found:
        moment, state = found
        run.restore(state)
        run.phases.totals.update(moment.phases)
    run.synchronise()
    comm.Barrier()
    if comm.rank == 0:
        resumed = {"resumed_at_step": moment.step} if found else {}
        report(Started(trial, now() - begun, {**run.effective(), **resumed}))
        for earlier in moment.reports:
            report(earlier)
    _Loop(trial, run, report, stop_asked, saved, moment, now).to_the_end()


def set_up(config: TrainingConfig, comm: MPI.Comm, kept: Kept, now: Now = time.perf_counter) -> Run:
    """A run that is ready to step. Collective over `comm`; raises as `train` does.

    One that finds the GPU full has what earlier trials left go, and tries once more.
    """
    has_earlier = len(kept) > 0
    try:
        return _ready(config, comm, kept, now)
    except torch.OutOfMemoryError:
        # Several ranks may stand at different collectives by now.
        if comm.size > 1 or not has_earlier:
            raise
    kept.give_back()  # outside the handler, whose traceback holds the run that failed
    return _ready(config, comm, kept, now)


def _ready(config: TrainingConfig, comm: MPI.Comm, kept: Kept, now: Now) -> Run:
    run = Run(config, comm, now, kept)
    run.warm_up()
    return run


class _Loop:
    """The clocked part of a trial."""

    def __init__(
        self,
        trial: str,
        run: Run,
        report: Report,
        stop_asked: Callable[[], bool],
        checkpoints: Checkpoints | None,
        moment: Moment,
        now: Now,
    ) -> None:
        self._trial, self._run, self._report, self._stop_asked = trial, run, report, stop_asked
        self._checkpoints = checkpoints
        self._steps = run.budget.steps
        self._every = run.budget.report_every
        self._first = moment.step
        self._reports = [*moment.reports]
        self._meet = Meeting(run.comm, run.device, run.phases)
        self._now = now
        self._clock = Clock(moment.seconds, now)
        run.phases.start(COMPUTE)

    def to_the_end(self) -> None:
        """Step, report, and say how it ended."""
        run = self._run
        reported = run.budget.images_after(self._first - 1)
        checked = reported
        for step in range(self._first, self._steps):
            run.step(step)
            images = run.budget.images_after(step)
            at_point = (step + 1) % self._every == 0 or step + 1 == self._steps
            if at_point:
                window = self._agree(run.loss_sum, images - reported)
                self._report_point(step + 1, images, window.loss)
                if not math.isfinite(window.loss):
                    self._end("diverged", step + 1, images, f"loss is {window.loss} at step {step + 1}")
                    return
                reported = images
                run.loss_sum.zero_()
            if self._evaluation_is_due(step):
                self._evaluate(step + 1, images)
            if at_point and step + 1 != self._steps:
                if window.stop:
                    self._end("stopped", step + 1, images)
                    return
                if self._checkpoints and _passed(checked, images, run.config.checkpoint_every):
                    checked = images
                    self._save(step + 1)
        self._end("completed", self._steps, run.budget.images)

    def _agree(self, loss_sum: Tensor, images: int) -> _Window:
        self._meet()
        self._run.phases.enter(REPORT)
        asked = self._run.comm.rank == 0 and self._stop_asked()
        loss = loss_sum.item()
        mine = np.array([loss if self._run.group.first else 0.0, float(asked)])
        everyones = np.empty_like(mine)
        self._run.comm.Allreduce(mine, everyones)
        return _Window(loss=float(everyones[0]) / images, stop=bool(everyones[1]))

    def _evaluation_is_due(self, step: int) -> bool:
        """Once the images asked for are seen, and at the end."""
        every, last = self._run.config.evaluate_every, step + 1 == self._steps
        if every is None:
            return False
        return last or _passed(self._run.budget.images_after(step - 1), self._run.budget.images_after(step), every)

    def _evaluate(self, step: int, images: int) -> None:
        run = self._run
        if run.comm.size > 1:
            run.phases.enter(WAIT)
        run.synchronise()
        run.comm.Barrier()
        with self._clock.paused() as seconds, run.phases.paused("evaluation"):
            begun = self._now()
            quality = run.evaluate(step - 1)
            run.comm.Barrier()
            took = self._now() - begun
        self._send(Evaluated(self._trial, step, images, seconds, quality.loss, quality.accuracy, took))

    def _save(self, step: int) -> None:
        assert self._checkpoints
        with self._clock.paused() as seconds, self._run.phases.paused("checkpoint"):
            moment = Moment(step, seconds, tuple(self._reports), dict(self._run.phases.totals))
            self._checkpoints.save(moment, self._run.state())
            self._run.comm.Barrier()

    def _report_point(self, step: int, images: int, loss: float) -> None:
        self._send(Point(self._trial, step, images, self._clock.seconds(), loss))

    def _send(self, event: Point | Evaluated) -> None:
        if self._checkpoints:
            self._reports.append(event)
        if self._run.comm.rank == 0:
            self._report(event)

    def _end(self, outcome: str, steps: int, images: int, reason: str = "") -> None:
        seconds = self._clock.seconds()
        self._run.phases.stop()
        if self._checkpoints and outcome != "stopped":
            self._checkpoints.remove()
        if self._run.comm.rank == 0:
            phases = dict(self._run.phases.totals)
            self._report(Ended(self._trial, outcome, steps, images, seconds, phases, reason))


def _passed(before: int, now: int, every: int | None) -> bool:
    """Whether a multiple of `every` lies in (before, now]."""
    return every is not None and now // every > before // every
