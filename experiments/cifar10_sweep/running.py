"""What the study runs: the reference grids, the same sweep pruned, and the worker counts that have to share a GPU.

Each sweep has a name in the study's store, by which the tables find it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from experiments.study import Study
from sweeper.answers.cost import candidates_over
from sweeper.errors import UsageError
from sweeper.gangs.machine import local_gpus
from sweeper.ranking import best_per_group

PARTS = (
    "grid",
    "area",
    "forecast",
    "seeds",
    "shared",
    "shared-grids",
    "shared-seeds",
    "reuse",
    "cells",
    "uniform",
    "several",
)
_IN_SMALL = ("grid", "shared", "shared-seeds", "reuse")  # parts of the small version
GRID, CELLS = "grid.yaml", "cells.yaml"
SEEDS = (0, 1, 2, 3, 4)
COUNTS = (2, 4, 8)  # worker counts above one
BEST = 10  # settings of a group that get further seeds

# The small version, over images, and on cores that others may have: its seconds say nothing.
_SMALL = (
    "trial.model=mlp",
    "trial.fc=torch",
    "trial.data=digits",
    "trial.images=2048",
    "objective.threshold=2.0",
    "objective.over=images",
    "resources.gpus_per_worker=0",
)
_SMALL_GRID = (*_SMALL, "space.learning_rate=[0.1, 0.5]", "space.batch_size=[64, 128]")


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    parts = {
        "grid": _grid,
        "area": _area,
        "forecast": _forecast,
        "seeds": _seeds,
        "shared": _shared,
        "shared-grids": _shared_grids,
        "shared-seeds": _shared_seeds,
        "reuse": _reuse,
        "cells": _cells,
        "uniform": _uniform,
        "several": _several,
    }
    for name, part in parts.items():
        if study.wants(name) and (name in _IN_SMALL or not study.quick):
            part(study)


def _grid(study: Study) -> None:
    study.sweep(GRID, quick=_SMALL_GRID)


def _area(study: Study) -> None:
    study.sweep(GRID, ["name=area-1w", "prune=area"])


def _forecast(study: Study) -> None:
    """A sweep for each seed, so that none learns from another."""
    for seed in SEEDS:
        named = [f"name=forecast-1w-seed{seed}", f"trial.seed={seed}"]
        study.sweep(GRID, [*named, "prune=forecast"])


def _seeds(study: Study) -> None:
    """The reference with the other seeds."""
    study.sweep(GRID, ["name=grids-1w", *_with_seeds(SEEDS[1:])])


def _shared(study: Study) -> None:
    for count in _shared_counts(study):
        named = [f"name=shared-{count}w", f"space.workers=[{count}]"]
        study.sweep(GRID, [*named, *_OVER_IMAGES], oversubscribe=True, quick=_SMALL_GRID)


def _shared_grids(study: Study) -> None:
    """The grid of two workers that may share a GPU, with the other seeds: the reference of the pruned sweeps."""
    for seed in SEEDS[1:]:
        named = [f"name=shared-2w-seed{seed}", f"trial.seed={seed}", "space.workers=[2]"]
        study.sweep(GRID, [*named, *_OVER_IMAGES], oversubscribe=True)


def _shared_seeds(study: Study) -> None:
    """The best settings of the counts that shared a GPU with one seed, with two more."""
    counts = _shared_counts(study) if study.quick else COUNTS[1:]
    settings = [one for count in counts for one in _best_settings(study, f"shared-{count}w")]
    named = ["name=shared-seeds", f"space.points={json.dumps(settings)}"]
    study.sweep(CELLS, [*named, *_with_seeds((1, 2)), *_OVER_IMAGES], oversubscribe=True, quick=_SMALL)


def _reuse(study: Study) -> None:
    """Several counts in one sweep, whose trials of equal global batch share a curve: two with each seed, then all."""
    way = ("prune=forecast", "reuse=equivalent", *_OVER_IMAGES)
    for seed in () if study.quick else SEEDS:
        named = [f"name=reuse-shared-2w-seed{seed}", f"trial.seed={seed}", "space.workers=[1, 2]"]
        study.sweep(GRID, [*named, *way], oversubscribe=True)
    named = ["name=reuse-shared", f"space.workers={[1, *_shared_counts(study)]}"]
    study.sweep(GRID, [*named, *way], oversubscribe=True, quick=_SMALL_GRID)


def _cells(study: Study) -> None:
    """A few cells with and without report 7's momentum and decay."""
    study.sweep(CELLS)
    study.sweep(CELLS, ["name=cells-momentum", "trial.momentum=0.9", "trial.weight_decay=0.004"])


def _uniform(study: Study) -> None:
    """The reference from report 7's initial weights."""
    study.sweep(GRID, ["name=uniform-1w", "trial.initial_weights=uniform"])


def _several(study: Study) -> None:
    """The worker counts that have a GPU each on this machine."""
    counts = [count for count in COUNTS if count <= len(local_gpus())]
    if not counts:
        click.echo("Skipped the part several: it needs at least two GPUs.")
        return
    for count in counts:
        study.sweep(GRID, [f"name=several-{count}w", f"space.workers=[{count}]", *_with_seeds(SEEDS)])
    for seed in SEEDS:
        named = [f"name=reuse-several-seed{seed}", f"trial.seed={seed}", f"space.workers={[1, *counts]}"]
        study.sweep(GRID, [*named, "prune=forecast", "reuse=equivalent"])


# Ranks that share a GPU have no honest seconds. The paper's exchange is one that works there, too.
_OVER_IMAGES = ("objective.over=images", "trial.exchange.method=parameter-server")


def _with_seeds(seeds: Sequence[int]) -> list[str]:
    return [f"space.seed={list(seeds)}", "objective.group_by=[workers, seed]"]


def _shared_counts(study: Study) -> Sequence[int]:
    return COUNTS[:1] if study.quick else COUNTS


def _best_settings(study: Study, name: str) -> list[dict[str, Any]]:
    """The best settings of a recorded sweep, by the area over images.

    Raises:
        UsageError: the sweep has not been run, or not to its end.
    """
    missing = UsageError(f"{name}: shared-seeds needs it, and it is not complete", "run the part shared first")
    if not study.has_sweeps:
        raise missing
    with study.reading() as store:
        sweep = next((one for one in store.sweeps.all() if one.name == name), None)
        if sweep is None or sweep.ended < sweep.total:
            raise missing
        candidates = candidates_over(store, sweep, "images", None, oversubscribed=True)
        ranking = best_per_group(candidates, sweep.threshold, ("workers",))[0].ranking[:BEST]
    fields = ("workers", "batch_size", "learning_rate")
    return [{field: one.parameters[field] for field in fields} for one in ranking]
