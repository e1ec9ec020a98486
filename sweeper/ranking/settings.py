"""Settings: what competes where `repeats` gives each point of the space several seeds.

The trials of a setting differ in nothing but the seed that `repeats` gave them. A setting is ranked as one candidate,
whose area is the mean over its seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Group, Key, best_per_group
from sweeper.spec.axes import SEED
from sweeper.spec.repeats import Race, gives_seeds
from sweeper.spec.stored import StoredSpec

# The state of a setting whose trials are in several: the first of these that any of them is in.
_PRECEDENCE = (
    TrialState.DIVERGED,
    TrialState.FAILED,
    TrialState.PRUNED,
    TrialState.CANCELLED,
    TrialState.RUNNING,
    TrialState.PENDING,
    TrialState.COMPLETED,
)
_RESULTS = (TrialState.COMPLETED, TrialState.DIVERGED, TrialState.PRUNED)


def without_seed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that make a setting."""
    return {name: value for name, value in parameters.items() if name != SEED}


def setting_key(parameters: Mapping[str, Any]) -> Key:
    """The same for all trials of a setting, and for no others."""
    return tuple(sorted((name, repr(value)) for name, value in parameters.items() if name != SEED))


def repeats_of(spec: StoredSpec, trials: Iterable[Mapping[str, Any]]) -> int | Race:
    """The repeats of a sweep, of whose trials it gets the parameters; see `StoredSpec.repeats_with`."""
    return spec.repeats_with(seeds=any(SEED in parameters for parameters in trials))


def competitors(candidates: Iterable[Candidate], repeats: int | Race) -> list[Candidate]:
    """What is to be ranked of a sweep's trials: these themselves, or where `repeats` gives seeds the settings.

    In a race a setting counts with the seeds that came to something: others may still come.
    """
    if not gives_seeds(repeats):
        return list(candidates)
    members: dict[Key, list[Candidate]] = {}
    for candidate in candidates:
        members.setdefault(setting_key(candidate.parameters), []).append(candidate)
    races = isinstance(repeats, Race)
    return [
        as_one([c for c in trials if c.state in _RESULTS] or trials if races else trials) for trials in members.values()
    ]


def rank_groups(
    candidates: Iterable[Candidate], threshold: float | None, group_by: Sequence[str], repeats: int | Race = 1
) -> list[Group]:
    """`best_per_group` of the settings, for trials as the store has them."""
    return best_per_group(competitors(candidates, repeats), threshold, group_by)


def as_one(trials: Sequence[Candidate]) -> Candidate:
    """A setting as the ranking sees it; it stands under the name of the first of its trials in the plan.

    It is complete when all of its trials are. Area, seconds and images are means, None where a trial has none; of the
    trials that a pruned setting was stopped before, the area counts as nothing. The minimum loss is the highest of its
    trials', so that it comes to a threshold when they all do; so it is at chance when one of them is.
    """
    trials = sorted(trials, key=lambda trial: (trial.position, trial.trial))
    first = trials[0]
    state = next(state for state in _PRECEDENCE if any(trial.state is state for trial in trials))
    return Candidate(
        trial=first.trial,
        parameters=without_seed(first.parameters),
        state=state,
        finite=all(trial.finite for trial in trials),
        area=_mean_area(trials, so_far=state is TrialState.PRUNED),
        minimum_loss=_highest(trials),
        seconds=_mean([trial.seconds for trial in trials]),
        images=_mean_images(trials),
        position=first.position,
        oversubscribed=any(trial.oversubscribed for trial in trials),
        derived_from=next((trial.derived_from for trial in trials if trial.derived_from), None),
        at_chance=any(trial.at_chance for trial in trials),
        repeats=tuple(trials),
    )


def seed_of(trial: Candidate) -> Any:
    """The seed that its repeat gave it; None where it has none."""
    return trial.parameters.get(SEED)


def mean(values: Sequence[float]) -> float:
    """The mean of numbers, one at least; NaN where one is not finite."""
    if not all(map(math.isfinite, values)):
        return math.nan
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return math.fsum(value / len(values) for value in values)


def _mean_area(trials: Sequence[Candidate], *, so_far: bool) -> float | None:
    return _mean([0.0 if so_far and trial.area is None else trial.area for trial in trials])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def _mean_images(trials: Sequence[Candidate]) -> int | None:
    mean = _mean([trial.images for trial in trials])
    return None if mean is None else round(mean)


def _highest(trials: Sequence[Candidate]) -> float | None:
    losses = [trial.minimum_loss for trial in trials if trial.minimum_loss is not None]
    if any(math.isnan(loss) for loss in losses):
        return math.nan
    return max(losses, default=None) if len(losses) == len(trials) else None
