"""What the study runs: bare sums on cores, over two hosts and on GPUs, then the same exchanges in training."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.measure import hardware, versions
from benchmarks.ranks import told_by_ranks
from experiments.all_reduce.speed import NCCL
from experiments.machine import gpus_for
from experiments.study import Study
from sweeper.errors import UsageError
from sweeper.gangs.machine import usable_cpus

PARTS = ("cpu", "hosts", "gpu", "training")
BY_MPI = ("all-reduce", "ring", "hierarchical", "reduce-broadcast")
SIZES = tuple(1024 << 2 * doublings for doublings in range(11))  # 1 KiB to 1 GiB
_HOSTS = "hosts"
_CPU_WORKERS = (2, 4, 8)
_HOSTS_WORKERS = (2, 4)
_MOST_BYTES = 4 << 30  # of all ranks' messages together: each is held three times
_MOST_BYTES_BY_CABLE = 64 << 20
_ROUNDS = 9
_QUICK_SIZES, _QUICK_ROUNDS = (1024, 1 << 20), 3
_RANK = "experiments.all_reduce.rank"
_QUICK = (
    "trial.data=synthetic",
    "space.seed=[0]",
    "space.points=[{model: alexnet-cifar, batch_size: 16, steps: 2}]",
    "space.exchange.method=[auto, ring]",
)
_ON_GPUS = [
    {"model": "alexnet-cifar", "batch_size": 128, "steps": 2000},
    {"model": "vgg11", "batch_size": 64, "steps": 500},
]
_Told = Callable[[int, str, Sequence[str], bool], Any]


def run(study: Study) -> None:
    """Measure what the recorded result lacks.

    Raises:
        UsageError: a part alone is asked for that this machine cannot measure.
    """
    if study.wants("cpu"):
        _record(study, "cpu", lambda: _sums("cpu", _CPU_WORKERS[: 1 if study.quick else None], _here, study))
    if study.wants(_HOSTS) and not study.quick:
        _over_hosts(study)
    gpus = gpus_for(study)
    if gpus > 1:
        _record(study, f"{gpus}-gpus", lambda: _on_gpus(gpus, study))
    elif study.wants("gpu") and not study.wants("cpu"):
        raise UsageError(
            "--only gpu: this machine has one GPU, between which nothing is exchanged", "run it on several"
        )
    if study.wants("training"):
        _train(study, gpus)


def _record(study: Study, place: str, measured: Callable[[], Iterator[dict[str, Any]]]) -> None:
    if not study.measured(place):
        study.record(place, list(measured()))


def _sums(
    device: str, counts: Sequence[int], told: _Told, study: Study, most_bytes: int = 1 << 30
) -> Iterator[dict[str, Any]]:
    for workers in counts:
        shared = workers > usable_cpus()
        sizes = [size for size in SIZES if size <= min(most_bytes, _MOST_BYTES // workers)]
        yield from _rows(device, workers, BY_MPI, sizes, told, study, shared=shared)


def _on_gpus(gpus: int, study: Study) -> Iterator[dict[str, Any]]:
    """NCCL by each algorithm, in processes of its own, since a process has one; then MPI through the host's memory."""
    for method in NCCL:
        yield from _rows("cuda", gpus, [method], SIZES, _here, study, shared=False)
    yield from _rows("cuda", gpus, BY_MPI, SIZES, _here, study, shared=False)


def _rows(
    device: str,
    workers: int,
    methods: Sequence[str],
    sizes: Sequence[int],
    told: _Told,
    study: Study,
    *,
    shared: bool,
) -> Iterator[dict[str, Any]]:
    sizes, rounds = (_QUICK_SIZES, _QUICK_ROUNDS) if study.quick else (sizes, _ROUNDS)
    arguments = ["--device", device, "--rounds", str(rounds), "--methods", *methods, "--sizes", *map(str, sizes)]
    used = versions("torch", "mpi4py")
    for row in told(workers, _RANK, arguments, shared):
        yield {**row, "oversubscribed": shared, "hardware": hardware(), "versions": used}


def _here(workers: int, module: str, arguments: Sequence[str], shared: bool) -> Any:
    return told_by_ranks(workers, module, arguments, crowded=shared)


def _over_hosts(study: Study) -> None:
    if study.measured(_HOSTS):
        return
    from experiments.all_reduce.hosts import told_over, two_hosts
    from tests.cluster.network import why_no_network

    if problem := why_no_network():
        if study.wants("cpu"):
            return
        raise UsageError(f"--only {_HOSTS}: {problem}", "run it as root on Linux, with iproute2")
    with two_hosts() as hosts:

        def told(workers: int, module: str, arguments: Sequence[str], shared: bool) -> Any:
            return told_over(hosts, workers, module, arguments, crowded=shared)

        study.record(_HOSTS, list(_sums("cpu", _HOSTS_WORKERS, told, study, _MOST_BYTES_BY_CABLE)))


def _train(study: Study, gpus: int) -> None:
    study.sweep("training.yaml", quick=_QUICK)
    if gpus < 2:
        return
    swept = [f"space.workers=[{gpus}]", f"space.points={json.dumps(_ON_GPUS)}"]
    on_gpus = ["resources.gpus_per_worker=1", "trial.device=cuda", *swept]
    study.sweep("training.yaml", [f"name=training-{gpus}-gpus", *on_gpus])
    by_nccl = ["space.exchange.method=[nccl]", "space.exchange.algorithm=[auto, ring, tree]"]
    study.sweep("training.yaml", [f"name=training-{gpus}-gpus-nccl", *on_gpus, *by_nccl])
