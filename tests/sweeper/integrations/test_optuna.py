"""Our pruner in a study of Optuna's: the winner of all, for less."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import optuna
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from sweeper.integrations.optuna import AreaPruner, Curve

RATES = [0.0001, 0.001, 0.01, 0.1, 1.0]
PARTS = 12
optuna.logging.set_verbosity(optuna.logging.WARNING)


def study_of(pruner: optuna.pruners.BasePruner) -> optuna.Study:
    """A linear classifier of the digits, at each rate and batch size, by the images that it has seen."""
    inputs, targets = load_digits(return_X_y=True)
    sampler = optuna.samplers.GridSampler({"rate": RATES, "batch": [64.0, 256.0]}, seed=1)
    study = optuna.create_study(pruner=pruner, sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        rate, batch = trial.suggest_float("rate", 0, 1), int(trial.suggest_float("batch", 1, 256))
        model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=rate, random_state=0)
        part, losses = len(inputs) // PARTS, []
        for end in range(part, PARTS * part + 1, part):
            for start in range(end - part, end, batch):
                chosen = slice(start, min(start + batch, end))
                model.partial_fit(inputs[chosen] / 16, targets[chosen], classes=range(10))
            losses.append(float(log_loss(targets, model.predict_proba(inputs / 16))))
            trial.report(losses[-1], step=end)
            if trial.should_prune():
                raise optuna.TrialPruned
        return part * (losses[0] + sum((a + b) / 2 for a, b in pairwise(losses)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        study.optimize(objective)
    return study


def best(study: optuna.Study, threshold: float) -> dict[float, dict[str, float]]:
    """The parameters with the smallest value of each batch size, of those that came down to the threshold."""
    found = {}
    for batch in (64.0, 256.0):
        trials = [t for t in study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)) if t.params["batch"] == batch]
        qualified = [t for t in trials if min(t.intermediate_values.values()) <= threshold]
        found[batch] = min(qualified, key=lambda t: t.value or math.inf).params
    return found


def test_the_winners_of_real_training_are_those_without_pruning() -> None:
    whole = study_of(optuna.pruners.NopPruner())
    lowest = min(min(trial.intermediate_values.values()) for trial in whole.trials)
    for options in ({}, {"floor": lowest, "length": 12 * (1797 // 12)}):
        pruned = study_of(AreaPruner(threshold=0.8, group_by=["batch"], **options))  # type: ignore[arg-type]
        assert best(pruned, 0.8) == best(whole, 0.8)
        states = [trial.state for trial in pruned.trials]
        assert states.count(optuna.trial.TrialState.PRUNED) >= 2


def test_groups_do_not_stop_each_other_and_who_misses_the_threshold_stops_nobody() -> None:
    study = optuna.create_study(pruner=AreaPruner(threshold=1.0, group_by=["kind"]))

    def run(kind: int, losses: list[float]) -> float | None:
        """The area of a trial that reports these, half a second apart; None where it is stopped."""
        study.enqueue_trial({"kind": kind})
        trial = study.ask({"kind": optuna.distributions.IntDistribution(0, 9)})
        curve = Curve(trial)
        for number, loss in enumerate(losses):
            curve.report(loss, 0.5 * (number + 1))
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return None
        study.tell(trial, curve.area(threshold=1.0))
        return curve.area(threshold=1.0)

    assert run(1, [1.2, 1.1, 1.1]) == math.inf
    assert run(1, [2.0, 2.0, 1.0]) == 2.75
    assert run(2, [9.0, 9.0, 0.5]) == 11.375
    assert run(1, [9.0, 9.0, 0.5]) is None
    assert run(1, [0.1, math.nan, math.inf]) == math.inf
    assert run(1, [1.0, 1.0, 1.0]) == 1.5
    assert run(1, [0.1]) == pytest.approx(0.05)
    assert run(1, []) == math.inf


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"floor": 0.5}, "floor: 0.5 does nothing without length; give the last step that a trial reports"),
        ({"floor": -1.0}, "floor: -1 is negative; give a loss that none comes below, or 0"),
    ],
)
def test_a_floor_that_cannot_count_is_refused(options: dict[str, float], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        AreaPruner(**options)  # type: ignore[arg-type]
