"""What the study runs: two layers on 1, 2 and 4 ranks of one core each, or on as many GPUs as there are."""

from __future__ import annotations

from benchmarks.measure import hardware, versions
from benchmarks.ranks import told_by_ranks
from experiments.machine import gpus_for
from experiments.study import Study
from sweeper.gangs.machine import usable_cpus

PARTS = ("cpu", "gpu")
_CPU_RANKS = (1, 2, 4)
_ROUNDS, _QUICK_ROUNDS = 24, 3


def run(study: Study) -> None:
    """Measure what the recorded result lacks.

    Raises:
        UsageError: `--only gpu` on a machine without a GPU.
    """
    if study.wants("cpu"):
        _record(study, "cpu", _CPU_RANKS[: 2 if study.quick else None], 0)
    if gpus := gpus_for(study):
        counts = tuple(count for count in (1, 2, 4, 8) if count <= gpus)
        _record(study, "gpu" if gpus == 1 else f"{gpus}-gpus", counts, gpus)


def _record(study: Study, place: str, counts: tuple[int, ...], gpus: int) -> None:
    if study.measured(place):
        return
    rounds = _QUICK_ROUNDS if study.quick else _ROUNDS
    device = "cuda" if gpus else "cpu"
    arguments = ["--device", device, "--rounds", str(rounds), *(["--quick"] if study.quick else [])]
    rows = []
    for workers in counts:
        shared = not gpus and workers > usable_cpus()
        for row in told_by_ranks(workers, "experiments.channel_parallel.rank", arguments, crowded=shared):
            used = {"hardware": hardware(gpus), "versions": versions("torch", "mpi4py")}
            rows.append({**row, "oversubscribed": shared, **used})
    study.record(place, rows)
