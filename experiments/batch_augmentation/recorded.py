"""The recorded runs: each trial with its errors on the test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import SAMPLES
from experiments.study import Study
from sweeper.store import EvaluationRecord, TrialRecord

GOAL = 0.06  # the error that the homework asks for


@dataclass(frozen=True)
class Run:
    """A trial that has ended, with its evaluations in the order of its steps; an epoch is `samples` images."""

    trial: TrialRecord
    evaluations: Sequence[EvaluationRecord]
    samples: int

    @property
    def instances(self) -> int:
        """How often a step computes each of its samples: M."""
        return int(self.trial.config["augmentation"]["instances"])

    @property
    def cutout(self) -> int:
        """Pixels of a side; 0 where there is none."""
        return int(self.trial.config["augmentation"]["cutout"])

    @property
    def seed(self) -> int:
        """What it was drawn by."""
        return int(self.trial.config["seed"])

    @property
    def pictures(self) -> int:
        """That a step computes."""
        return int(self.trial.config["batch_size"]) * self.instances

    @property
    def words(self) -> str:
        """How its pictures are augmented."""
        used = self.trial.config["augmentation"]
        named = {"flips": used["flip"], "shifts": used["shift"], f"Cutout of {self.cutout}": self.cutout}
        return ", ".join(name for name, on in named.items() if on)

    @property
    def epochs(self) -> float:
        """How many it has trained."""
        return (self.trial.images or 0) / self.samples

    @property
    def errors(self) -> list[tuple[float, float, float]]:
        """Epochs, seconds of training, and the share of the test set that is wrong, at each evaluation."""
        return [((one.images or 0) / self.samples, one.seconds, 1 - one.accuracy) for one in self.evaluations]

    def first_at(self, error: float) -> tuple[float, float] | None:
        """Epochs and seconds at the first evaluation with at most this error; None where there is none."""
        return next(((epochs, seconds) for epochs, seconds, wrong in self.errors if wrong <= error), None)


def read_runs(study: Study) -> list[Run]:
    """The runs that have ended, in the order of the plan, further seeds last."""
    found = []
    with study.reading() as store:
        for sweep in sorted(store.sweeps.all(), key=lambda one: one.name):
            evaluations = store.attempts.evaluations_by_trial(sweep.id)
            for trial in store.trials.of(sweep.id):
                if trial.state.ended:
                    found.append(Run(trial, evaluations.get(trial.id, ()), SAMPLES[trial.config["data"]]))
    return found
