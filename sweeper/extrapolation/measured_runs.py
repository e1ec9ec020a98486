"""What a forecast starts from: trials by setting, with what they say of curves and of the time of steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import TrainingConfig
from sweeper.errors import SpecError
from sweeper.plan import effective
from sweeper.plan.equivalence import NOT_OF_THE_CURVE, NOT_OF_THE_TIME, without
from sweeper.plan.trial import TrialState
from sweeper.spec.axes import SEED, WORKERS
from sweeper.spec.reuse import faults_beside_the_model, model_difference
from sweeper.store.records import SweepRecord, TrialRecord

_SIZES = ("batch_size", "global_batch_size")
_NOT_OF_THE_CURVE = (*_SIZES, "learning_rate", "seed", *NOT_OF_THE_CURVE)
_NOT_OF_THE_TIME = (*_SIZES, *NOT_OF_THE_TIME)


@dataclass(frozen=True)
class Setting:
    """Parameters without workers and seed; the batch is that of a worker (`batch_size`) or of all of them.

    Settings of one `curve` differ in their curves by global batch and rate only, settings of one `time` in the time of
    their steps by workers and batch only. A run sees so many `images`, or with `own_steps` takes so many steps,
    whatever its global batch. `differs` says why its losses do not follow from the global batch; empty where they do.
    """

    values: tuple[tuple[str, Any], ...]
    batch_size: int | None
    global_batch_size: int | None
    learning_rate: float
    images: int
    curve: Hashable = ""
    time: Hashable = ""
    method: str = "auto"
    own_steps: int | None = None
    model: str = ""
    differs: str = ""

    def global_batch(self, workers: int) -> int:
        """Images of all workers per step."""
        return self.global_batch_size or (self.batch_size or 1) * workers

    def share(self, workers: int) -> int:
        """Images of a worker and step, of the one that has most."""
        return math.ceil(self.global_batch(workers) / workers)

    def steps(self, workers: int) -> int:
        """Steps of a run; the last one takes what is left."""
        return self.own_steps or math.ceil(self.images / self.global_batch(workers))

    def images_of(self, workers: int) -> int:
        """Images of a run."""
        return self.own_steps * self.global_batch(workers) if self.own_steps else self.images

    def can_run(self, workers: int) -> bool:
        """Whether every worker has an image in each step, and the run has one step at least."""
        whole = self.global_batch(workers)
        return workers <= whole and (bool(self.own_steps) or whole <= self.images)


@dataclass(frozen=True)
class Run:
    """A trial of a setting. Areas are over steps, images and seconds (training), None where there is none.

    `timed` where its seconds are those of its own ranks, on cores or GPUs that were theirs alone.
    """

    setting: Setting
    workers: int
    seed: Hashable
    state: TrialState
    area_steps: float | None
    area_images: float | None
    area_seconds: float | None
    minimum_loss: float | None
    steps: int | None
    seconds: float | None
    points: int
    timed: bool = True
    derived: bool = False
    trial: str = ""

    @property
    def complete(self) -> bool:
        """Whether it has a whole and finite curve."""
        return self.state is TrialState.COMPLETED and self.area_steps is not None and bool(self.steps)

    def area(self, over: str) -> float | None:
        """Area over "seconds", "images" or "steps"; over seconds only where it is `timed`."""
        areas = {"seconds": self.area_seconds if self.timed else None, "images": self.area_images}
        return areas.get(over, self.area_steps)


def runs_of(sweep: SweepRecord, trials: Sequence[TrialRecord]) -> list[Run]:
    """The trials whose curves are shared by all of their global batch, rate and seed, or are not for their model alone.

    Raises:
        SpecError: there are none, or fewer than two worker counts have completed trials with times of their own.
    """
    if sweep.origin == "import":
        raise _refusal(sweep, "is an import, of which nobody knows how gradients were averaged; run it with the engine")
    runs = [_run(trial) for trial in trials if not _faults(trial)]
    if not runs:
        reasons = "; ".join(dict.fromkeys(fault for trial in trials for fault in _faults(trial)))
        reasons = reasons or "it has no trials; run some"
        raise _refusal(sweep, f"has no trials whose curve follows from the global batch: {reasons}")
    _check_counts(sweep, runs)
    return runs


def left_out(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """How many trials `runs_of` leaves out, by why their curves do not follow from the global batch."""
    return Counter("; ".join(faults) for trial in trials if (faults := _faults(trial)))


def _faults(trial: TrialRecord) -> list[str]:
    if "command" in trial.config:
        return ["trial is a command; use the engine's own training"]
    found = faults_beside_the_model(trial.config)
    if trial.whole_images is None:
        found.append(f"trial.epochs: the size of data {trial.config['data']} is not known; give trial.images instead")
    return found


def _check_counts(sweep: SweepRecord, runs: Sequence[Run]) -> None:
    """Raises SpecError where fewer than two worker counts tell how the time of a step grows with them."""
    counts = sorted({run.workers for run in runs if run.complete and run.timed})
    if len(counts) < 2:
        had = f"only of {counts[0]} worker{'s' if counts[0] > 1 else ''}" if counts else "of no worker count"
        raise _refusal(
            sweep, f"has completed trials {had} (oversubscribed ones tell no times); complete some of two counts"
        )


def _refusal(sweep: SweepRecord, words: str) -> SpecError:
    return SpecError([f"forecast: sweep {sweep.name} ({sweep.id}) {words}"])


def _run(trial: TrialRecord) -> Run:
    planned = trial.planned
    config = planned.config
    assert isinstance(config, TrainingConfig)
    decides = effective(config, trial.workers)
    budget = config.known_budget(trial.workers)
    assert budget
    setting = Setting(
        values=tuple((name, value) for name, value in trial.parameters.items() if name not in (WORKERS, SEED)),
        batch_size=None if config.global_batch_size is not None else config.own_batch,
        global_batch_size=config.global_batch_size,
        learning_rate=config.learning_rate,
        images=0 if config.steps else budget.images,
        curve=without(decides, _NOT_OF_THE_CURVE),
        time=without(decides, _NOT_OF_THE_TIME),
        method=config.exchange.method,
        own_steps=config.steps,
        model=config.model,
        differs=model_difference(config.model),
    )
    return Run(
        setting=setting,
        workers=trial.workers,
        seed=config.seed,
        state=trial.state,
        area_steps=trial.area_steps,
        area_images=trial.area_images,
        area_seconds=trial.area_seconds,
        minimum_loss=trial.minimum_loss,
        steps=trial.steps,
        seconds=trial.seconds,
        points=trial.points,
        timed=not trial.oversubscribed,
        derived=trial.derived_from is not None,
        trial=trial.id,
    )
