"""The recorded sweeps, and the reference grids among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from experiments.cifar10_sweep.running import COUNTS, SEEDS
from experiments.study import Study
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, rank
from sweeper.store import Store, SweepRecord, TrialRecord
from sweeper.store.records import AttemptSpan, GangRecord

if TYPE_CHECKING:
    from dashboards.figures.tables import Outcome

Setting: TypeAlias = tuple[int, float]  # batch size per worker, learning rate
_PAUSE = timedelta(minutes=1)  # between two attempts: the study was interrupted, and went on later
PAPERS = ("alexnet-cifar", "cifar10")  # the paper's network, and its data
_ORDER = ("grid-", "grids-", "uniform-", "area-", "forecast-", "shared-", "several-", "reuse-", "cells-")


@dataclass(frozen=True)
class Grid:
    """The trials of one worker count and seed; areas are over the axis `over`."""

    workers: int
    seed: int
    over: str
    threshold: float | None
    trials: Mapping[Setting, Candidate]

    def ranking(self, threshold: float | None = None) -> list[Setting]:
        """The qualified settings, smallest area first; by the sweep's own threshold unless one is given."""
        limit = self.threshold if threshold is None else threshold
        return [setting_of(trial) for trial in rank(self.trials.values(), limit)]

    def winner(self, threshold: float | None = None) -> Setting | None:
        """The first of the ranking."""
        return next(iter(self.ranking(threshold)), None)

    def outcome(self, setting: Setting, threshold: float | None = None) -> Outcome:
        """What came of a setting; one that was not run has no result."""
        from dashboards.figures.tables import Outcome, outcome  # here, so that winners are read without the dashboards

        trial = self.trials.get(setting)
        if trial is None:
            return Outcome.NO_RESULT
        return outcome(trial, self.threshold if threshold is None else threshold)

    def area(self, setting: Setting) -> float | None:
        """The area of a whole curve; None where the trial has none, also if it ended early."""
        trial = self.trials.get(setting)
        return trial.area if trial is not None and self.outcome(setting).has_area else None


@dataclass(frozen=True)
class RecordedSweep:
    """A sweep that ran to its end, with its trials, the time of their attempts, and the `images` that all trained."""

    record: SweepRecord
    trials: Sequence[TrialRecord]
    spans: Sequence[AttemptSpan]
    gangs: Sequence[GangRecord]
    images: int

    @cached_property
    def counts(self) -> list[int]:
        """The worker counts, in numeric order."""
        return sorted({trial.workers for trial in self.trials})

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds, in numeric order."""
        return sorted({seed_of(trial) for trial in self.trials})

    def of(self, workers: int, seed: int) -> list[TrialRecord]:
        """The trials of a worker count with a seed."""
        return [one for one in self.trials if one.workers == workers and seed_of(one) == seed]

    def grid(self, workers: int, seed: int, over: str | None = None) -> Grid:
        """The same as a grid, over the sweep's own axis unless another is given."""
        axis = over or self.record.over
        found = [candidate(trial, axis) for trial in self.of(workers, seed)]
        return Grid(workers, seed, axis, self.record.threshold, {setting_of(one): one for one in found})

    def training_s(self, trials: Sequence[TrialRecord]) -> float:
        """Seconds that attempts at these trials trained, those that were stopped too."""
        seconds = {trial.id: trial.seconds or 0.0 for trial in trials}
        return sum(
            seconds[span.trial_id] if span.trained is None else span.trained
            for span in self.spans
            if span.trial_id in seconds
        )

    @property
    def trained_share(self) -> float:
        """Images that were trained, of those that all trials would train to their ends.

        Trials that diverge end early, so a sweep without pruning may be below 1.
        """
        return self.images / sum(int(trial.config["images"]) for trial in self.trials)

    @property
    def machine_s(self) -> float:
        """Seconds from the first attempt's start to the last one's end, without pauses of more than a minute."""
        took, end = timedelta(), None
        for span in self.spans:
            if span.ended_at is None:
                continue
            begins = span.started_at if end is None or span.started_at - end > _PAUSE else min(end, span.ended_at)
            took += span.ended_at - begins
            end = span.ended_at if end is None else max(end, span.ended_at)
        return took.total_seconds()


Sweeps: TypeAlias = Mapping[str, RecordedSweep]


@dataclass(frozen=True)
class Reference:
    """The unpruned grids of a worker count: the sweep that has them by seed.

    `shared` where the workers might share a GPU, and are ranked over images; `uniform` where weights began within
    ±0.05, as in report 7. The sweep `further` has some settings with more seeds. Areas are over the sweeps' own axis
    unless `over` names another.
    """

    workers: int
    shared: bool
    sources: Mapping[int, RecordedSweep]
    further: RecordedSweep | None = None
    uniform: bool = False
    over: str | None = None

    def grid(self, seed: int | None = None, over: str | None = None) -> Grid:
        """The grid of a seed, by default the lowest one, over the reference's axis unless another is given."""
        which = min(self.sources) if seed is None else seed
        return self.sources[which].grid(self.workers, which, over or self.over)

    @property
    def timed(self) -> Reference | None:
        """The seeds of a shared reference whose workers had a GPU each after all, over seconds; None without any."""
        free = {seed: sweep for seed, sweep in self.sources.items() if seed not in self._crowded}
        wanted = self.shared and self._on_gpus and free
        return replace(self, sources=free, further=None, over="seconds") if wanted else None

    def training_s(self, seed: int) -> float:
        """Seconds that the trials of a seed trained."""
        source = self.sources[seed]
        return source.training_s(source.of(self.workers, seed))

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.workers}{self._way(self._seeds)}"

    @property
    def words(self) -> str:
        """The grid of its lowest seed, in a sentence."""
        return f"{self.workers} worker{'' if self.workers == 1 else 's'}{self._way(set(sorted(self._seeds)[:1]))}"

    @property
    def file_name(self) -> str:
        """The same as a part of a file's name."""
        return f"{self.workers}w{'-shared' if self.shared else ''}{'-uniform' if self.uniform else ''}"

    def _way(self, seeds: Set[int]) -> str:
        """How the workers of some seeds had their GPUs, or their first weights."""
        if self.shared:
            if not self._on_gpus:
                return ""
            free = sorted(seeds - self._crowded)
            if not free:
                return ", sharing a GPU"
            return ", a GPU each" + (f" with seed {', '.join(map(str, free))}" if seeds & self._crowded else "")
        if self.workers > 1:
            return ", a GPU each, timed"
        return ", weights in ±0.05" if self.uniform else ""

    @property
    def _seeds(self) -> set[int]:
        return {*self.sources, *(self.further.seeds if self.further else ())}

    @property
    def _on_gpus(self) -> bool:
        """Whether workers train on GPUs; those of the small version have cores."""
        return any(one.resources.get("gpus_per_worker") for sweep in self.sources.values() for one in sweep.trials)

    @property
    def _crowded(self) -> set[int]:
        """The seeds whose workers did share a GPU: on a machine with several, few have to."""
        sweeps = [*self.sources.values(), *([self.further] if self.further else ())]
        trials = [one for sweep in sweeps for one in sweep.trials if one.workers == self.workers]
        return {seed_of(one) for one in trials if one.oversubscribed}


def read_sweeps(study: Study) -> dict[str, RecordedSweep]:
    """The sweeps of the study's store that ran to their ends, by name: references before what is compared with them."""
    with study.reading() as store:
        whole = [one for one in store.sweeps.all() if one.ended == one.total]
        return {one.name: _read(store, one) for one in sorted(whole, key=lambda one: _place(one.name))}


def _read(store: Store, record: SweepRecord) -> RecordedSweep:
    trials, spans = store.trials.of(record.id), store.attempts.spans(record.id)
    return RecordedSweep(record, trials, spans, store.attempts.gangs(record.id), _images(store, spans))


def _images(store: Store, spans: Sequence[AttemptSpan]) -> int:
    """Images that all attempts with a gang trained; those without took another trial's curve."""
    trained = {(span.trial_id, span.number) for span in spans}
    points = store.attempts.curves(list({span.trial_id for span in spans}), all_attempts=True)
    last = {(trial, attempt): images for trial, attempt, _, images, *_ in points}
    return sum(images or 0 for key, images in last.items() if key in trained)


def _place(name: str) -> tuple[int, str]:
    return next((place for place, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER)), name


def are_of_the_paper(sweeps: Sweeps) -> bool:
    """Whether they train the paper's network on its data, unlike those of the small version."""
    trained = {(one.config["model"], one.config["data"]) for sweep in sweeps.values() for one in sweep.trials}
    return trained == {PAPERS}


def references(sweeps: Sweeps) -> list[Reference]:
    """All that are recorded: one worker first, each count that might share a GPU before the one that had several."""
    return list(_references(sweeps))


def on_all_axes(sweeps: Sweeps) -> list[Reference]:
    """The same, with a second one over seconds where workers that might share a GPU had one each."""
    return [one for known in references(sweeps) for one in (known, known.timed) if one]


def _references(sweeps: Sweeps) -> Iterator[Reference]:
    if alone := _by_seed(sweeps, "grid-1w", "grids-1w"):
        yield Reference(1, False, alone)
    if uniform := _by_seed(sweeps, "uniform-1w"):
        yield Reference(1, False, uniform, uniform=True)
    further = sweeps.get("shared-seeds")
    for count in COUNTS:
        name = f"shared-{count}w"
        if shared := _by_seed(sweeps, name, *(f"{name}-seed{seed}" for seed in SEEDS[1:])):
            yield Reference(count, True, shared, further if further and count in further.counts else None)
        if several := _by_seed(sweeps, f"several-{count}w"):
            yield Reference(count, False, several)


def _by_seed(sweeps: Sweeps, *names: str) -> dict[int, RecordedSweep]:
    found = [sweeps[name] for name in names if name in sweeps]
    return {seed: sweep for sweep in found for seed in sweep.seeds}


def candidate(trial: TrialRecord, over: str) -> Candidate:
    """A trial as the ranking sees it, with its seed among its parameters; over seconds also if it shared a GPU."""
    found = trial.candidate(over, oversubscribed=True)
    return found._replace(parameters={**found.parameters, "seed": seed_of(trial)})


def setting_of(trial: Candidate | TrialRecord) -> Setting:
    """Batch size and rate of a trial."""
    return int(trial.parameters["batch_size"]), round(float(trial.parameters["learning_rate"]), 6)


def seed_of(trial: TrialRecord) -> int:
    """The seed that a trial was trained with."""
    return int(trial.config["seed"])


def words(setting: Setting | None) -> str:
    """A setting as in "128/0.5"; a dash for none."""
    return "–" if setting is None else f"{setting[0]}/{setting[1]:g}"


def count_of(trials: Sequence[TrialRecord], state: TrialState) -> int:
    """How many trials are in a state."""
    return sum(trial.state is state for trial in trials)
