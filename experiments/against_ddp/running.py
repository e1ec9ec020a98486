"""What the study runs: the same settings by the engine and by DDP, on CPUs and on a GPU."""

from __future__ import annotations

from experiments.study import Study

PARTS = ("cpu", "gpu")
RIVALS = ("eager", "compiled")
# Ranks of one thread each on pictures that are learnt within seconds; three seeds, so that times have a spread.
_CPU = (
    "space.workers=[1, 2]",
    "space.points=[{batch_size: 32, learning_rate: 0.1}, {batch_size: 128, learning_rate: 0.2}]",
    "resources.gpus_per_worker=0",
    "objective.threshold=1.2",
    "repeats=3",
)
_SMALL = (
    "space.workers=[2]",
    "space.points=[{batch_size: 64, learning_rate: 0.1}]",
    "objective.threshold=2.4",
    "repeats=1",
)


def _on_cpus(field: str, data: str, images: int, points: int) -> list[str]:
    """What both are told, below `trial` or below `trial.values`."""
    return [f"{field}.data={data}", f"{field}.images={images}", f"{field}.points={points}"]


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    if study.wants("cpu"):
        training = ("digits", 1280, 10) if study.quick else ("fashion-mnist", 25600, 50)
        study.sweep("ours.yaml", ["name=ours-cpu", *_CPU, *_on_cpus("trial", *training)], quick=_SMALL)
        for how in RIVALS[: 1 if study.quick else None]:
            named = [f"name={how}-cpu", f"trial.values.how={how}"]
            study.sweep("ddp.yaml", [*named, *_CPU, *_on_cpus("trial.values", *training)], quick=_SMALL)
    if study.wants("gpu") and not study.quick:
        study.sweep("ours.yaml")
        study.sweep("ddp.yaml")
        compiled = ["name=compiled-gpu", "trial.values.how=compiled"]
        study.sweep("ddp.yaml", [*compiled, "space.points=[{batch_size: 128, learning_rate: 0.3}]"])
