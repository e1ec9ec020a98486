"""What the study runs: the reference grid, the same pruned, and the worker counts that have to share a GPU."""

from __future__ import annotations

from experiments.study import Study

PARTS = ("grid",)
QUICK = (
    "trial.data=digits",
    "trial.images=4096",
    "space.learning_rate=[0.1, 0.5]",
    "space.batch_size=[64, 256]",
    "objective.threshold=2.2",
    "resources.gpus_per_worker=0",
)


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    if study.wants("grid"):
        study.sweep("grid.yaml", quick=QUICK)
