"""What the recorded sweeps came to: the project's table of scaling for each network and place, and forecasts.

A trial's clock starts after its first steps, which load libraries and compile, and every later step counts: these are
the steady steps. With S of them in t seconds and B images of all workers in each, a trial has S B / t images a second.
An epoch of N images takes N t / (S B) seconds, and costs these times workers times price / 3600.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dashboards.figures import Choices
from dashboards.figures.scaling.rows import STRONG, WEAK, ScalingRow, ScalingSeries
from dashboards.figures.scaling.table import ScalingTable, scaling_table
from dashboards.figures.tables import trial_table
from engine.config import SAMPLES
from experiments.scaling.workloads import CPU
from experiments.study import Study
from sweeper.errors import SpecError
from sweeper.extrapolation import Forecaster, PredictedTimes, runs_of
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord, TrialRecord

FORECAST = (4, 8, 16)  # worker counts
KINDS = (WEAK, STRONG)
_SWEEP = re.compile(r"(engine|ddp)-(.+)-(cpu|gpu|\d+-gpus)")


@dataclass(frozen=True)
class Steps:
    """The steady steps of one worker count: seconds of each, or their mean between two loss points."""

    seconds: tuple[float, ...]
    steps: int

    @property
    def spread(self) -> float:
        """Half of the distance between the longest and the shortest, in percent of the median."""
        return 50 * (max(self.seconds) - min(self.seconds)) / median(self.seconds)


@dataclass(frozen=True)
class Scaled:
    """A network at a place: its epochs, and where they are known, forecasts by kind and worker count.

    `table` has a series for each kind of scaling by the engine and by DDP; `steps` are by sweep, kind and workers,
    `batches` the images that a kind fixes: of each worker, or of all.
    """

    place: str
    network: str
    table: ScalingTable
    engine: str | None
    steps: Mapping[tuple[str, str, int], Steps]
    batches: Mapping[str, int]
    forecasts: Mapping[tuple[str, int], PredictedTimes]

    def series(self, kind: str, *, engine: bool) -> ScalingSeries | None:
        """The series of a kind by the engine, or by DDP; None where there is none."""
        found = (one for one in self.table.series if one.kind == kind and (one.sweep == self.engine) == engine)
        return next(found, None)

    def rows(self, kind: str, *, engine: bool) -> dict[int, ScalingRow]:
        """What was measured, by worker count."""
        series = self.series(kind, engine=engine)
        return {row.workers: row for row in series.rows if row.throughput} if series else {}

    def steps_of(self, kind: str, workers: int, *, engine: bool) -> Steps:
        """The steps behind such a row."""
        series = self.series(kind, engine=engine)
        assert series
        return self.steps[series.sweep, kind, workers]

    def global_batch(self, kind: str, workers: int) -> int:
        """Images of all workers in a step."""
        return self.batches[kind] * (workers if kind == WEAK else 1)

    @property
    def samples(self) -> int:
        """Images of an epoch."""
        assert self.table.images
        return self.table.images


def read_all(study: Study) -> list[Scaled]:
    """All that is recorded: on cores, then on GPUs by their number."""
    if not study.has_sweeps:
        return []
    with study.reading() as store:
        found: dict[tuple[str, str], dict[str, SweepRecord]] = {}
        for sweep in reversed(store.sweeps.all()):
            if named := _SWEEP.fullmatch(sweep.name):
                found.setdefault((named[3], named[2]), {})[named[1]] = sweep
        order = sorted(found, key=lambda one: (one[0] != CPU, one[0] != "gpu", one[0]))
        return [_scaled(store, place, network, found[place, network]) for place, network in order]


def _scaled(store: Store, place: str, network: str, sweeps: Mapping[str, SweepRecord]) -> Scaled:
    """`sweeps` are by who trained: the engine, or DDP."""
    first, *others = (sweeps[by] for by in ("engine", "ddp") if by in sweeps)
    engine = sweeps.get("engine")
    trials = {sweep.id: store.trials.of(sweep.id, [TrialState.COMPLETED]) for sweep in sweeps.values()}
    batches = _batches(trials[first.id])
    forecasts = _forecasts(store, engine) if engine else {}
    counts = tuple(count for count in FORECAST if _lacks(trials[first.id], batches, count)) if forecasts else ()
    choices = Choices(images=SAMPLES[_data_of(first)], forecast=counts)
    table = scaling_table(store, trial_table(store, first), choices, [trial_table(store, one) for one in others])
    steps = {
        (sweep, kind, workers): _steps(store, ones)
        for sweep, found in trials.items()
        for (kind, workers), ones in _by_kind(found, batches).items()
    }
    return Scaled(place, network, table, engine.id if engine else None, steps, batches, forecasts)


def _data_of(sweep: SweepRecord) -> str:
    trial = (sweep.spec.written or {})["trial"]
    return str(trial.get("data") or trial["values"]["data"])


def _batches(trials: Sequence[TrialRecord]) -> dict[str, int]:
    """The batch of each kind of scaling, as trials were given it."""
    names = {WEAK: "batch_size", STRONG: "global_batch_size"}
    given = {kind: [size for one in trials if (size := one.parameters.get(name))] for kind, name in names.items()}
    return {kind: sizes[0] for kind, sizes in given.items() if sizes}


def _by_kind(trials: Sequence[TrialRecord], batches: Mapping[str, int]) -> dict[tuple[str, int], list[TrialRecord]]:
    """Trials by kind and worker count; one whose batch fits both kinds counts for both."""
    found: dict[tuple[str, int], list[TrialRecord]] = {}
    for trial in trials:
        whole = trial.parameters.get("global_batch_size") or trial.workers * trial.parameters["batch_size"]
        for kind, batch in batches.items():
            if whole == batch * (trial.workers if kind == WEAK else 1):
                found.setdefault((kind, trial.workers), []).append(trial)
    return found


def _lacks(trials: Sequence[TrialRecord], batches: Mapping[str, int], workers: int) -> bool:
    """Whether a kind of scaling has not been measured with so many workers."""
    return any((kind, workers) not in _by_kind(trials, batches) for kind in batches)


def _steps(store: Store, trials: Sequence[TrialRecord]) -> Steps:
    seconds = [one for trial in trials for one in _between_points(store, trial)]
    return Steps(tuple(seconds), sum(trial.steps or 0 for trial in trials))


def _between_points(store: Store, trial: TrialRecord) -> Iterator[float]:
    """Seconds of a step, from the start and from each loss point to the next."""
    ends = [(0, 0.0), *((point.step, point.seconds) for point in store.attempts.points(trial.id))]
    for (step, seconds), (after, later) in itertools.pairwise(ends):
        yield (later - seconds) / (after - step)


def _forecasts(store: Store, sweep: SweepRecord) -> dict[tuple[str, int], PredictedTimes]:
    """Of the engine's settings at the counts of `FORECAST`, as `sweeper forecast` has them, measured or not.

    Empty where fewer than two worker counts had cores or GPUs of their own.
    """
    try:
        runs = runs_of(sweep, store.trials.of(sweep.id))
        forecaster = Forecaster(runs, None, price=sweep.spec.rate)
    except SpecError:
        return {}
    settings = {WEAK if run.setting.global_batch_size is None else STRONG: run.setting for run in runs}
    return {
        (kind, workers): times
        for kind, setting in settings.items()
        for workers in FORECAST
        if setting.can_run(workers) and (times := forecaster.times(setting, workers))
    }
