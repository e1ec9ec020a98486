"""What the study runs: every way to average on every worker count, and twenty seeds of gradients in one process."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.study import Study

PARTS = ("seeds", "ways")
SEEDS = "seeds"


@dataclass(frozen=True)
class Way:
    """A way to average; `sweep` is the name of its sweep, `overrides` what its spec has instead of gradients'."""

    sweep: str
    words: str
    overrides: tuple[str, ...] = ()


_SEVERAL = "space.workers=[2, 4, 8, 16]"  # one worker averages nothing
_WEIGHTS = (_SEVERAL, "trial.exchange.average=weights")
WAYS = (
    Way("gradients", "gradients"),
    Way("weights-own-starts", "weights, own starts", (*_WEIGHTS, "trial.exchange.start=own")),
    Way(
        "weights-own-starts-every-10",
        "weights every 10 steps, own starts",
        (*_WEIGHTS, "trial.exchange.start=own", "trial.exchange.every=10", "trial.points=1000"),
    ),
    Way("weights-equal-starts", "weights, equal starts", _WEIGHTS),
)
_QUICK_SEEDS = ("trial.steps=400", "trial.points=20", "space.batch_size=[1, 2]", "space.seed=[0, 1]")


def run(study: Study) -> None:
    """Run the parts that are asked for."""
    if study.wants("seeds"):
        study.sweep("seeds.yaml", quick=_QUICK_SEEDS)
    if study.wants("ways"):
        for way in WAYS:
            study.sweep(
                "neuron.yaml", (f"name={way.sweep}", *way.overrides), oversubscribe=True, quick=_quick(way)
            )


def _quick(way: Way) -> tuple[str, ...]:
    workers = "space.workers=[1, 2]" if way.sweep == "gradients" else "space.workers=[2]"
    points = "trial.points=40" if "trial.points=1000" in way.overrides else "trial.points=all"
    return ("trial.steps=400", workers, points)
