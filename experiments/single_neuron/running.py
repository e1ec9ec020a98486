"""What the study runs: every way to average on every worker count, and twenty seeds of gradients in one process."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.study import Study

PARTS = ("seeds", "ways")
SEEDS = "seeds"


@dataclass(frozen=True)
class Way:
    """A way to average `every` so many steps; `sweep` names its sweep, `overrides` are what differs in its spec."""

    sweep: str
    words: str
    overrides: tuple[str, ...] = ()
    every: int = 1


_SEVERAL = "space.workers=[2, 4, 8, 16]"  # one worker averages nothing
_WEIGHTS = (_SEVERAL, "trial.exchange.average=weights")
WAYS = (
    Way("gradients", "gradients"),
    Way("weights-own-starts", "weights, own starts", (*_WEIGHTS, "trial.exchange.start=own")),
    Way(
        "weights-own-starts-every-10",
        "weights every 10 steps, own starts",
        (*_WEIGHTS, "trial.exchange.start=own", "trial.exchange.every=10", "trial.points=1000"),
        every=10,
    ),
    Way("weights-equal-starts", "weights, equal starts", _WEIGHTS),
)
_QUICK_SEEDS = ("trial.steps=200", "trial.points=10", "space.batch_size=[1, 2]", "space.seed=[0, 1]")
_QUICK = ("trial.steps=200", "space.workers=[2]")


def run(study: Study) -> None:
    """Run the parts that are asked for; the small version leaves out the way that averages every 10 steps."""
    if study.wants("seeds"):
        study.sweep("seeds.yaml", quick=_QUICK_SEEDS)
    if study.wants("ways"):
        for way in WAYS:
            if not (study.quick and way.every > 1):
                overrides = (f"name={way.sweep}", *way.overrides)
                study.sweep("neuron.yaml", overrides, oversubscribe=True, quick=_QUICK)
