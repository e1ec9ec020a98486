"""What the study runs: two layers on 1 to 8 ranks with a core each, or a GPU each, as far as there are some."""

from __future__ import annotations

from benchmarks.measure import hardware, versions
from benchmarks.ranks import told_by_ranks
from experiments.machine import gpus_for
from experiments.study import Study
from sweeper.gangs.machine import usable_cpus

PARTS = ("cpu", "gpu")
_COUNTS = (1, 2, 4, 8)
_ROUNDS, _QUICK_ROUNDS = 24, 3


def run(study: Study) -> None:
    """Measure what the recorded result lacks.

    Raises:
        UsageError: `--only gpu` on a machine without a GPU.
    """
    if study.wants("cpu"):
        # Without a core of its own a rank is not there when others begin, and the slowest rank's time says little.
        _record(study, "cpu", 2 if study.quick else usable_cpus(), 0)
    if gpus := gpus_for(study):
        _record(study, "gpu" if gpus == 1 else f"{gpus}-gpus", gpus, gpus)


def _record(study: Study, place: str, most: int, gpus: int) -> None:
    if study.measured(place):
        return
    rounds = _QUICK_ROUNDS if study.quick else _ROUNDS
    device = "cuda" if gpus else "cpu"
    arguments = ["--device", device, "--rounds", str(rounds), *(["--quick"] if study.quick else [])]
    rows = []
    for workers in (count for count in _COUNTS if count <= most):
        crowded = not gpus and workers > usable_cpus()  # in the small version alone
        for row in told_by_ranks(workers, "experiments.channel_parallel.rank", arguments, crowded=crowded):
            rows.append({**row, "hardware": hardware(gpus), "versions": versions("torch", "mpi4py")})
    study.record(place, rows)
