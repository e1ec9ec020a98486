"""What the study runs: dummy steps, then training, on the cores and on the GPUs that this machine has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.exchange import METHODS
from benchmarks.measure import hardware, versions
from benchmarks.ranks import told_by_ranks
from experiments.machine import gpus_for
from experiments.study import Study
from sweeper.gangs.machine import usable_cpus

PARTS = ("cpu", "gpu")
WORKERS = (1, 2, 4, 8)
_ALONE = "parameter-server"  # one rank exchanges nothing, by any method
_QUICK = (
    "trial.data=synthetic",
    "trial.steps=2",
    "trial.batch_size=16",
    "space.workers=[2]",
    'space.exchange.method={"values": ["parameter-server", "all-reduce"], "when": {"workers": [2]}}',
    "repeats=1",
)


@dataclass(frozen=True)
class Place:
    """What ranks compute on: `gpus` GPUs, or this machine's cores where there are none. `name` is in the record."""

    name: str
    gpus: int

    def is_shared_by(self, workers: int) -> bool:
        """Whether so many ranks have to share GPUs or cores."""
        return workers > (self.gpus or usable_cpus())

    def methods(self, workers: int) -> tuple[str, ...]:
        """The exchanges that so many ranks can use."""
        if workers == 1:
            return (_ALONE,)
        return (*METHODS, "nccl") if workers <= self.gpus else METHODS


def places(study: Study) -> Iterator[Place]:
    """Where this machine is to measure.

    Raises:
        UsageError: the part `gpu` alone is asked for, and cannot be measured.
    """
    if study.wants("cpu"):
        yield Place("cpu", 0)
    if gpus := gpus_for(study):
        yield Place("gpu" if gpus == 1 else f"{gpus}-gpus", gpus)


def run(study: Study) -> None:
    """Measure what the recorded result lacks, at each place."""
    for place in places(study):
        if not study.measured(f"dummy-{place.name}"):
            study.record(f"dummy-{place.name}", list(_dummy(place, quick=study.quick)))
        _train(study, place)


def _dummy(place: Place, *, quick: bool) -> Iterator[dict[str, Any]]:
    steps, rounds = (2, 2) if quick else (20, 15)
    used = versions("torch", "mpi4py", "numpy")
    for workers in WORKERS[1:2] if quick else WORKERS:
        methods = place.methods(workers)[:2] if quick else place.methods(workers)
        for row in _ranks(place, workers, methods, steps, rounds):
            yield {**row, "oversubscribed": place.is_shared_by(workers), "hardware": hardware(), "versions": used}


def _ranks(place: Place, workers: int, methods: Sequence[str], steps: int, rounds: int) -> list[dict[str, Any]]:
    device = "cuda" if place.gpus else "cpu"
    arguments = ["--device", device, "--steps", str(steps), "--rounds", str(rounds), "--methods", *methods]
    module = "experiments.exchange_phases.dummy"
    rows: list[dict[str, Any]] = told_by_ranks(workers, module, arguments, crowded=workers > usable_cpus())
    return rows


def _train(study: Study, place: Place) -> None:
    name = f"training-{place.name}"
    if not place.gpus:
        study.sweep("training.yaml", (f"name={name}", "trial.device=cpu"), oversubscribe=True, quick=_QUICK)
        return
    on_gpus = ("resources.gpus_per_worker=1", "trial.device=cuda", "trial.steps=50")
    study.sweep("training.yaml", (f"name={name}", *on_gpus), oversubscribe=True)
    alone = [workers for workers in WORKERS[1:] if workers <= place.gpus]
    if alone:
        swept = (f"space.workers={alone}", "space.exchange.method=[nccl]")
        study.sweep("training.yaml", (f"name={name}-nccl", *on_gpus, *swept))
