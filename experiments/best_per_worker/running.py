"""What the study runs: the published winners and our own, trained on; today's recipe; and a long run of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from experiments.study import Study

PARTS = ("published", "ours", "recipe", "longest")
GRID_STUDY = Path(__file__).parent.parent / "cifar10_sweep"
# The recipe with more augmentation, for longer.
_LONGEST = (
    "name=longest",
    "trial.images=20000000",
    "trial.evaluate_every=1000000",
    "trial.augmentation={flip: true, shift: 3, cutout: 8}",
    "repeats=3",
)
_QUICK = ("trial.model=mlp", "trial.data=digits", "trial.images=1024", "resources.gpus_per_worker=0")
_FEW = [{"workers": workers, "batch_size": 64, "learning_rate": 0.1} for workers in (1, 2)]
_QUICK_PUBLISHED = (*_QUICK, "trial.evaluate_every=256", f"space.points={json.dumps(_FEW)}")
_QUICK_RECIPE = (
    *_QUICK,
    "trial.augmentation={flip: true, shift: 1}",
    "trial.batch_size=64",
    "trial.learning_rate=0.02",
    "trial.evaluate_every=256",
    "repeats=1",
)


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    if study.wants("published"):
        study.sweep("published.yaml", oversubscribe=True, quick=_QUICK_PUBLISHED)
    if study.wants("ours") and not study.quick:
        _ours(study)
    if study.wants("recipe"):
        study.sweep("recipe.yaml", quick=_QUICK_RECIPE)
    if study.wants("longest") and not study.quick:
        study.sweep("recipe.yaml", _LONGEST)


def _ours(study: Study) -> None:
    settings = our_winners(study)
    if settings:
        named = ["name=ours", f"space.points={json.dumps(settings)}"]
        study.sweep("published.yaml", named, oversubscribe=True)
    else:
        click.echo("Skipped the part ours: the study cifar10_sweep has recorded no grid.")


def our_winners(study: Study) -> list[dict[str, Any]]:
    """The winner of each worker count whose grid the study `cifar10_sweep` has recorded, at its threshold."""
    from experiments.cifar10_sweep.recorded import read_sweeps, references

    grids = Study(GRID_STUDY, None, quick=False, executor=study.executor)
    known = references(read_sweeps(grids)) if grids.has_sweeps else []
    winners = {one.workers: one.grid().winner() for one in known if not one.uniform}
    return [
        {"workers": workers, "batch_size": setting[0], "learning_rate": setting[1]}
        for workers, setting in winners.items()
        if setting
    ]
