"""What the study runs: each network by the engine, then by DDP, on the cores and on the GPUs that this machine has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.measure import hardware, versions
from experiments.machine import gpus_for
from experiments.scaling.workloads import engine_settings, place_of, rival_settings, workloads
from experiments.study import Study

PARTS = ("cpu", "gpu", "ddp")


def run(study: Study) -> None:
    """Measure what the recorded result lacks. DDP runs where the engine does; alone, it runs on cores.

    Raises:
        UsageError: `--only gpu` without `cpu`, on a machine without a GPU.
    """
    gpus = gpus_for(study)
    if study.wants("cpu") or not gpus:
        _measure(study, 0, engine=study.wants("cpu"))
    if gpus:
        _measure(study, gpus, engine=True)


def _measure(study: Study, gpus: int, *, engine: bool) -> None:
    place = place_of(gpus)
    if not study.measured(f"machine-{place}"):
        study.record(f"machine-{place}", [{"hardware": hardware(gpus), "versions": versions("torch", "mpi4py")}])
    for load in workloads(gpus, quick=study.quick):
        if engine:
            _sweep(study, "engine.yaml", engine_settings(load, place), gpus)
        if study.wants("ddp"):
            _sweep(study, "ddp.yaml", rival_settings(load, place), gpus)


def _sweep(study: Study, spec: str, settings: Mapping[str, Any], gpus: int) -> None:
    overrides = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in settings.items()]
    study.sweep(spec, overrides, oversubscribe=not gpus, one_at_a_time=True)
