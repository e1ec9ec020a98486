"""The recorded runs: each trial with its accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.study import Study
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import SECONDS_PER_HOUR
from sweeper.ranking.curve import LossPoint
from sweeper.store import EvaluationRecord, TrialRecord

GOAL = 0.818  # the paper's accuracy with one worker
# The paper's section 6: accuracy and seconds by worker count, on K80s with a host each.
PUBLISHED = {1: (0.818, 260.0), 2: (0.7715, 138.44), 4: (0.71, 84.2)}


@dataclass(frozen=True)
class Run:
    """A trial, with its loss points and evaluations in the order of its steps.

    `price` is dollars for an hour of a worker.
    """

    trial: TrialRecord
    points: Sequence[LossPoint]
    evaluations: Sequence[EvaluationRecord]
    price: float | None

    @property
    def seed(self) -> int:
        """The seed that it was trained with."""
        return int(self.trial.config["seed"])

    @property
    def words(self) -> str:
        """Workers and setting, as in "2 workers, 128/0.5"."""
        count, setting = self.trial.workers, self.trial.parameters
        return f"{count} worker{'' if count == 1 else 's'}, {setting['batch_size']}/{setting['learning_rate']:g}"

    @property
    def what(self) -> str:
        """The network and its data."""
        return f"{self.trial.config['model']} on {self.trial.config['data']}"

    @property
    def end(self) -> str:
        """How it ended, with the step unless that is the last one."""
        state = self.trial.state
        return str(state) if state is TrialState.COMPLETED else f"{state} at step {self.trial.steps or 0:,}"

    @property
    def dollars(self) -> float | None:
        """What its training has cost; None where ranks shared a GPU, for each would be charged for one."""
        if self.trial.oversubscribed or self.price is None:
            return None
        return (self.trial.seconds or 0.0) * self.trial.workers * self.price / SECONDS_PER_HOUR

    @property
    def last(self) -> float | None:
        """The accuracy at its end."""
        return self.evaluations[-1].accuracy if self.evaluations else None

    @property
    def best(self) -> EvaluationRecord | None:
        """The evaluation with the highest accuracy, the first of those."""
        return max(self.evaluations, key=lambda one: one.accuracy, default=None)

    def first_at(self, accuracy: float) -> float | None:
        """Seconds of training at the first evaluation that reaches an accuracy; None where none does."""
        return next((one.seconds for one in self.evaluations if one.accuracy >= accuracy), None)


def read_runs(study: Study) -> dict[str, list[Run]]:
    """The runs of each recorded sweep that have ended, by the sweep's name, in the order of the plan."""
    with study.reading() as store:
        found: dict[str, list[Run]] = {}
        for sweep in store.sweeps.all():
            evaluations = store.attempts.evaluations_by_trial(sweep.id)
            trials = [trial for trial in store.trials.of(sweep.id) if trial.state.ended]
            found[sweep.name] = [
                Run(trial, store.attempts.points(trial.id), evaluations.get(trial.id, ()), sweep.spec.rate)
                for trial in trials
            ]
        return found


def mean_accuracy(runs: Sequence[Run]) -> list[tuple[float, float]]:
    """Mean seconds and mean accuracy over runs of one length, evaluation by evaluation."""
    return [
        (sum(one.seconds for one in ones) / len(ones), sum(one.accuracy for one in ones) / len(ones))
        for ones in zip(*(run.evaluations for run in runs), strict=True)
    ]
