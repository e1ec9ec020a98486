"""A sweep as Optuna's studies: one for each group, since trials of several groups do not compete.

The best trial of a study is then the group's winner: values are areas, and by Optuna's constraints a trial whose loss
never comes to the threshold is infeasible.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sweeper.interchange.formats.csv_table import cell
from sweeper.plan.trial import TrialState
from sweeper.store.archived import ArchivedSweep, ArchivedTrial
from sweeper.store.records import TrialRecord

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

STATES = {
    TrialState.PENDING: "WAITING",
    TrialState.RUNNING: "RUNNING",
    TrialState.COMPLETED: "COMPLETE",
    TrialState.DIVERGED: "FAIL",
    TrialState.PRUNED: "PRUNED",
    TrialState.FAILED: "FAIL",
    TrialState.CANCELLED: "FAIL",
}
Group = tuple[tuple[str, str], ...]
_AREAS = ("seconds", "images", "steps")
_LARGEST = 1e308
_LONGEST_NAME = 500  # Optuna's columns hold 512


def group_of(sweep: ArchivedSweep, trial: TrialRecord) -> Group:
    """The values of the group-by parameters, as text."""
    return tuple((name, str(cell(trial.parameters.get(name)))) for name in sweep.group_by)


def study_names(sweep: ArchivedSweep, trials: Sequence[TrialRecord]) -> dict[Group, str]:
    """A name for each group's study, all different; there is a study even where there is no trial."""
    groups = dict.fromkeys(group_of(sweep, trial) for trial in trials) or {(): None}
    names: dict[Group, str] = {}
    for group in groups:
        words = ", ".join([sweep.name, *(f"{name}={value}" for name, value in group)])
        name = f"{words} ({sweep.id})"
        if len(name) > _LONGEST_NAME or name in names.values():
            name = f"{words[: _LONGEST_NAME - 60]}… {len(names)} ({sweep.id})"
        names[group] = name
    return names


def axis_of(sweep: ArchivedSweep) -> str:
    """What the areas are over: the sweep's axis, seconds where it is dollars."""
    return sweep.over if sweep.over in _AREAS else "seconds"


def value_of(sweep: ArchivedSweep, trial: TrialRecord) -> float | None:
    """A completed trial's area, infinity where it has none; None for the others."""
    if trial.state is not TrialState.COMPLETED:
        return None
    area = trial.area(axis_of(sweep))
    untimed = trial.oversubscribed and axis_of(sweep) == "seconds"
    return math.inf if area is None or untimed else area


def constraints_of(sweep: ArchivedSweep, trial: TrialRecord) -> list[float]:
    """Two numbers that are 0 or less for a trial that ranks: how far its losses stay above the threshold, and whether
    it has no area.
    """
    excess = 0.0 if sweep.threshold is None else 1.0
    if sweep.threshold is not None and trial.minimum_loss is not None:
        excess = min(max(trial.minimum_loss - sweep.threshold, -_LARGEST), _LARGEST)
    return [excess, float(value_of(sweep, trial) == math.inf)]


def attributes_of(trial: ArchivedTrial) -> dict[str, Any]:
    """What people look at beside parameters and curve."""
    record = trial.record
    accuracies = [evaluation.accuracy for attempt in trial.attempts[-1:] for evaluation in attempt.evaluations]
    accuracies = [accuracy for accuracy in accuracies if not math.isnan(accuracy)]
    told = {
        "trial": record.id,
        "state": record.state.value,
        "reason": record.reason,
        "minimum_loss": record.minimum_loss,
        "seconds": record.seconds,
        "images": record.images,
        "accuracy": accuracies[-1] if accuracies else None,
    }
    return {name: _finite(value) for name, value in told.items() if value not in (None, "")}


def distributions(sweep: ArchivedSweep, trials: Iterable[TrialRecord]) -> dict[str, BaseDistribution]:
    """Of the parameters of one study's trials: ranges of numbers, or the values that there are."""
    values: dict[str, list[Any]] = {}
    for trial in trials:
        for name, value in trial.parameters.items():
            values.setdefault(name, []).append(plain(value))
    space = (sweep.spec or {}).get("space") or {}
    return {name: _distribution(own, space.get(name)) for name, own in values.items()}


def plain(value: Any) -> Any:
    """A parameter as Optuna may have it: what is no single value as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else cell(value)


def _distribution(values: Sequence[Any], axis: Any) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return CategoricalDistribution(_unlike(values))
    if not all(map(math.isfinite, values)):
        return CategoricalDistribution(_unlike(values))
    low, high = min(values), max(values)
    log = isinstance(axis, Mapping) and bool(axis.get("log")) and low > 0
    if all(isinstance(value, int) for value in values):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _unlike(values: Sequence[Any]) -> list[Any]:
    """Each value once; 1, 1.0 and True are three."""
    return list({json.dumps(value): value for value in values}.values())


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
