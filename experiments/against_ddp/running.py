"""What the study runs: the same settings by the engine and by DDP, on CPUs and on a GPU."""

from __future__ import annotations

from experiments.study import Study

PARTS = ("cpu", "gpu")
RIVALS = ("eager", "compiled")
# Two ranks of one thread each; three seeds, so that times have a spread.
_CPU = (
    "space.workers=[1, 2]",
    "space.points=[{batch_size: 32, learning_rate: 0.05}, {batch_size: 128, learning_rate: 0.1}]",
    "resources.gpus_per_worker=0",
    "objective.threshold=2.1",
    "repeats=3",
)
_FEW_IMAGES = 12800
_QUICK = ("space.points=[{batch_size: 64, learning_rate: 0.1}]", "repeats=1")
_QUICK_IMAGES = 1280


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    if study.wants("cpu"):
        images = _QUICK_IMAGES if study.quick else _FEW_IMAGES
        ours = [*_CPU, f"trial.images={images}"]
        theirs = [*_CPU, f"trial.values.images={images}"]
        quick_data = ("trial.data=digits", "trial.points=10", "objective.threshold=2.4", *_QUICK)
        study.sweep("ours.yaml", ["name=ours-cpu", *ours], quick=quick_data)
        for how in RIVALS[: 1 if study.quick else None]:
            named = [f"name={how}-cpu", f"trial.values.how={how}"]
            quick = ("trial.values.data=digits", "trial.values.points=10", "objective.threshold=2.4", *_QUICK)
            study.sweep("ddp.yaml", [*named, *theirs], quick=quick)
    if study.wants("gpu") and not study.quick:
        study.sweep("ours.yaml")
        study.sweep("ddp.yaml")
        compiled = ["name=compiled-gpu", "trial.values.how=compiled"]
        study.sweep("ddp.yaml", [*compiled, "space.points=[{batch_size: 128, learning_rate: 0.3}]"])
