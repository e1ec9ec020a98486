"""What the study runs: each number of instances with one seed, and two of them with further seeds."""

from __future__ import annotations

import json

from experiments.study import Study

PARTS = ("instances", "seeds")
COMPARED = (1, 8)  # instances whose difference is to be more than chance
CUTOUT = 16  # pixels of a side (DeVries and Taylor, 2017, section 4.2)
_SEEDS = [1, 2]
_QUICK = (
    "trial.model=mlp",
    "trial.data=digits",
    "trial.epochs=4",
    "trial.learning_rate=0.02",
    "trial.augmentation={shift: 1}",
    "trial.compile=false",
    "trial.precision=tf32",
    "trial.evaluate_every=1497",
    "trial.checkpoint_every=null",
    "resources.gpus_per_worker=0",
)
_FEW = [{"augmentation.instances": instances, "augmentation.cutout": 2} for instances in (1, 2)]


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    few = (*_QUICK, f"space.points={json.dumps(_FEW)}")
    if study.wants("instances"):
        study.sweep("augmented.yaml", quick=few)
    if study.wants("seeds"):
        compared = [{"augmentation.instances": some, "augmentation.cutout": CUTOUT} for some in COMPARED]
        named = ["name=seeds", f"space.points={json.dumps(compared)}", f"space.seed={_SEEDS}"]
        study.sweep("augmented.yaml", named, quick=(*few, "space.seed=[1]"))
