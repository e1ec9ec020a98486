"""The study's measurements as one list, whether they are of dummy steps or of training."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from experiments.study import Study
from sweeper.store import Store, TrialRecord

DUMMY, TRAINING = "dummy", "training"
SERVER = "parameter-server"
# Phases of an exchange; the others are the computing before it, waiting for the slowest rank, and reporting.
EXCHANGING = ("gather", "average", "all-reduce", "update", "broadcast")
_PLACE = r"(cpu|gpu|\d+-gpus)"  # as the study's parts name their measurements
_DUMMY, _TRAINING = re.compile(f"{DUMMY}-{_PLACE}"), re.compile(f"{TRAINING}-{_PLACE}(-nccl)?")


@dataclass(frozen=True)
class Operations:
    """Seconds of a step's phases on rank 0 of so many workers; `shared` where they shared cores or a GPU.

    `place` is "cpu", "gpu" or "N-gpus", `kind` dummy steps or training. Each is the median of `runs`.
    """

    place: str
    kind: str
    method: str
    workers: int
    seconds: Mapping[str, float]
    messages: str
    shared: bool
    runs: int

    @property
    def exchange(self) -> float:
        """Seconds of the exchange, with the update."""
        return sum(seconds for name, seconds in self.seconds.items() if name in EXCHANGING)


@dataclass(frozen=True)
class Series:
    """Measurements of one kind at one place."""

    place: str
    kind: str
    rows: tuple[Operations, ...]

    @property
    def place_name(self) -> str:
        """As people read it: CPU, GPU, 2 GPUs."""
        return {"cpu": "CPU", "gpu": "GPU"}.get(self.place, self.place.replace("-gpus", " GPUs"))

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.place_name}, {self.kind}"

    @property
    def counts(self) -> list[int]:
        """Worker counts."""
        return sorted({row.workers for row in self.rows})

    @property
    def methods(self) -> list[str]:
        """Exchanges of several workers."""
        return list(dict.fromkeys(row.method for row in self.rows if row.workers > 1))

    def find(self, method: str, workers: int) -> Operations | None:
        """The row of a method; one worker's serves all."""
        fitting = (row for row in self.rows if row.workers == workers and (workers == 1 or row.method == method))
        return next(fitting, None)


def all_series(study: Study) -> list[Series]:
    """Dummy steps and training at each place that has been measured: the CPU, then by number of GPUs."""
    trained = _training(study)
    files = [_DUMMY.fullmatch(path.stem) for path in (study.into / "result").glob("*.json")]
    found = []
    for place in sorted({file[1] for file in files if file} | {row.place for row in trained}, key=_gpus_of):
        found.append(Series(place, DUMMY, tuple(_dummy(study, place))))
        found.append(Series(place, TRAINING, tuple(row for row in trained if row.place == place)))
    return [series for series in found if series.rows]


def _gpus_of(place: str) -> int:
    named = {"cpu": 0, "gpu": 1}
    return named[place] if place in named else int(place.partition("-")[0])


def _dummy(study: Study, place: str) -> Iterator[Operations]:
    for row in study.measured(f"{DUMMY}-{place}"):
        shared, runs = row["oversubscribed"], len(row["rounds"])
        yield Operations(place, DUMMY, row["method"], row["workers"], row["seconds"], row["messages"], shared, runs)


def _training(study: Study) -> list[Operations]:
    if not study.store.exists():
        return []
    with study.reading() as store:
        return [
            row
            for sweep in store.sweeps.all()
            if (found := _TRAINING.fullmatch(sweep.name))
            for row in _of_sweep(store, sweep.id, found[1])
        ]


def _of_sweep(store: Store, sweep: str, place: str) -> Iterator[Operations]:
    alike: dict[tuple[int, str], list[TrialRecord]] = {}
    for trial in store.trials.of(sweep):
        alike.setdefault((trial.workers, trial.config["exchange"]["method"]), []).append(trial)
    for workers, method in sorted(alike, key=lambda key: key[0]):
        trials = alike[workers, method]
        taken = [found.per_step for found in store.views.phases([trial.id for trial in trials]).values()]
        taken = [seconds for seconds in taken if seconds]
        if taken:
            seconds = {name: median(one.get(name, 0.0) for one in taken) for name in taken[0]}
            messages = store.attempts.of(trials[0].id)[-1].effective["messages"]
            shared = any(trial.oversubscribed for trial in trials)
            yield Operations(place, TRAINING, method, workers, seconds, messages, shared, len(taken))
