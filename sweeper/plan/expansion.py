"""From a spec to its trials: pure, the same list for the same spec, ids from content."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any, TypeAlias

from pydantic import ValidationError

from engine.budget import Budget
from engine.config import SAMPLES, AugmentationConfig, ScheduleConfig, TrainingConfig
from sweeper.errors import SpecError
from sweeper.plan.trial import TrialSpec
from sweeper.spec import Resources, SweepSpec, replace_field
from sweeper.spec.axes import SEED, WORKERS
from sweeper.spec.command import CommandConfig
from sweeper.spec.dimensions import Choices
from sweeper.spec.repeats import Race, gives_seeds, planned_seeds
from sweeper.spec.wording import describe_faults

Sampler: TypeAlias = Callable[[SweepSpec], Iterable[Mapping[str, Any]]]  # the points that a search begins with

MAXIMUM_TRIALS = 100_000
_MOST_OUTERMOST = 4000
_KEY_LENGTH = 12
# What trials were before a field gave the choice: with these values they keep the keys that stores hold.
_BEFORE_THE_CHOICE: dict[str, Any] = {
    "fc": "torch",
    "epochs": None,
    "steps": None,
    "exchange.every": 1,
    "exchange.start": "shared",
    "exchange.overlap": "auto",
    "schedule": ScheduleConfig().model_dump(mode="json"),
    "precision": "tf32",
    "augmentation": AugmentationConfig().model_dump(mode="json", exclude={"batch"}),
    "evaluate_every": None,
    "checkpoint_every": None,
    "compile": False,
    "phases": "coarse",
}


def plan(spec: SweepSpec, sampler: Sampler | None = None) -> list[TrialSpec]:
    """The trials that are known before any has run: all, or of a search that learns those that it begins with.

    A grid has worker counts outermost, then the fields in the order of the spec, then the repeats. The points of any
    other search come from the `sampler`: `sweeper.guides.samplers.first_points`.

    Raises:
        SpecError: a combination that cannot be trained, for example fewer images than one step takes, or too many.
        ValueError: the search is not a grid, and there is no sampler.
    """
    _check_size(spec)
    if spec.search.method != "grid":
        if sampler is None:
            raise ValueError(f"search: {spec.search.method} takes its points from a sampler, and none is given")
        outermost(spec)
        return trials_at(spec, sampler(spec))
    points = spec.points()
    trials = trials_at(spec, points)
    if isinstance(spec.repeats, Race):
        _trial(spec, points[0], spec.repeats.at_most - 1)  # its seed has to be one, too
    _check_images(trials)
    return trials


def trials_at(spec: SweepSpec, points: Iterable[Mapping[str, Any]]) -> list[TrialSpec]:
    """The trials of points of the space, each with its repeats.

    Raises:
        SpecError: one cannot be trained.
    """
    seeds = range(planned_seeds(spec.repeats))
    return [_trial(spec, point, repeat) for point in points for repeat in seeds]


def outermost(spec: SweepSpec) -> list[TrialSpec]:
    """Trials that need all that any trial of a sampled space may need, though none of them may come to be run.

    They are those of the highest and the lowest numbers and all names, with each worker count.

    Raises:
        SpecError: one cannot be trained.
    """
    others = {name: one.ends() for name, one in spec.dimensions.items() if name != WORKERS}
    workers = spec.dimensions[WORKERS]
    counts = workers.values if isinstance(workers, Choices) else workers.ends()
    combined = itertools.islice(itertools.product(*others.values()), max(1, _MOST_OUTERMOST // len(counts)))
    rest = [dict(zip(others, values, strict=True)) for values in combined]
    trials = [_trial(spec, spec.without_absent({WORKERS: count, **point}), 0) for count in counts for point in rest]
    _check_images(trials)
    return trials


def content_key(config: TrainingConfig | CommandConfig, workers: int, resources: Resources) -> str:
    """A digest of what decides a trial's result, defaults included: a changed default is another trial."""
    decides = effective(config, workers)
    gets = resources.model_dump(mode="json", exclude={"dollars_per_worker_hour"})  # a price changes no result
    content = {"config": decides, "workers": workers, "resources": gets}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_KEY_LENGTH]


def effective(config: TrainingConfig | CommandConfig, workers: int) -> dict[str, Any]:
    """What of a config decides a trial's result, with the global batch; what stood for itself before is left out."""
    if isinstance(config, CommandConfig):
        return config.model_dump(mode="json", exclude={"folder"})
    found: dict[str, Any] = {
        **config.model_dump(mode="json"),
        "global_batch_size": config.global_batch(workers),
        "batch_size": None,
    }
    augmentation = found["augmentation"]
    if augmentation["instances"] == 1 or augmentation["batch"] == "instances":
        del augmentation["batch"]
    for path, value in _BEFORE_THE_CHOICE.items():
        *parents, leaf = path.split(".")
        place: dict[str, Any] = found
        for parent in parents:
            place = place[parent]
        if place[leaf] == value:
            del place[leaf]
    return found


def with_seed(trial: TrialSpec, seed: int) -> TrialSpec:
    """The same trial with another seed, as a plan of more repeats has it."""
    changes = {SEED: seed}
    config: TrainingConfig | CommandConfig
    if isinstance(trial.config, CommandConfig):
        config = trial.config.with_values(changes)
    else:
        config = replace_field(trial.config, changes)
    return TrialSpec(
        key=content_key(config, trial.workers, trial.resources),
        workers=trial.workers,
        parameters={**trial.parameters, **changes},
        config=config,
        resources=trial.resources,
    )


def _trial(spec: SweepSpec, point: Mapping[str, Any], repeat: int) -> TrialSpec:
    """The trial at a point; a field that is None keeps the value in `trial`, and has none in a command."""
    changes = {name: value for name, value in point.items() if name != WORKERS}
    workers = int(point[WORKERS])
    config: TrainingConfig | CommandConfig
    if isinstance(spec.trial, CommandConfig):
        if gives_seeds(spec.repeats):
            changes[SEED] = int(spec.trial.values.get(SEED) or 0) + repeat
        config, parameters = spec.trial.with_values(changes), {WORKERS: workers, **changes}
    else:
        if gives_seeds(spec.repeats):
            changes[SEED] = spec.trial.seed + repeat
        config = _changed(spec.trial, {name: value for name, value in changes.items() if value is not None}, point)
        parameters = _parameters(config, workers, changes)
    return TrialSpec(
        key=content_key(config, workers, spec.resources),
        workers=workers,
        parameters=parameters,
        config=config,
        resources=spec.resources,
    )


def _changed(trial: TrainingConfig, changes: dict[str, Any], point: Mapping[str, Any]) -> TrainingConfig:
    try:
        return replace_field(trial, changes)
    except ValidationError as error:
        at = ", ".join(f"{name}={value}" for name, value in point.items())
        raise SpecError([f"{line} (at {at})" for line in describe_faults(error, TrainingConfig, "trial")]) from None


def _parameters(config: TrainingConfig, workers: int, changes: dict[str, Any]) -> dict[str, Any]:
    size = (
        {"global_batch_size": config.global_batch_size}
        if config.global_batch_size is not None
        else {"batch_size": config.global_batch(1)}
    )
    always = {WORKERS: workers, **size, "learning_rate": config.learning_rate}
    return {**always, **{name: value for name, value in changes.items() if value is not None or name not in always}}


def _check_size(spec: SweepSpec) -> None:
    size = spec.search.trials or planned_seeds(spec.repeats) * spec.size
    if size > MAXIMUM_TRIALS and spec.search.trials:
        raise SpecError([f"search.trials: {size} is more than {MAXIMUM_TRIALS}; take fewer"])
    if size > MAXIMUM_TRIALS:
        raise SpecError([f"space: gives {size} trials, more than {MAXIMUM_TRIALS}; take fewer values or repeats"])
    if isinstance(spec.repeats, Race) and spec.repeats.trials is not None and spec.repeats.trials < size:
        at_least, most = spec.repeats.at_least, spec.repeats.trials
        raise SpecError(
            [f"repeats.trials: {most} is less than the {size} that all settings take with {at_least} seeds; raise it"]
        )


def _check_images(planned: Iterable[TrialSpec]) -> None:
    budgets = [
        (budget, trial.workers, trial.config)
        for trial in planned
        if isinstance(trial.config, TrainingConfig) and (budget := trial.config.known_budget(trial.workers))
    ]
    if not budgets:
        return
    worst, workers, config = max(budgets, key=lambda one: Fraction(one[0].batch, one[0].images))
    if worst.images < worst.batch:
        given = f"trial.images: {worst.images} is"
        if config.epochs is not None:
            given = f"trial.epochs: {config.epochs:g} of data {config.data} are {worst.images} images,"
        raise SpecError(
            [
                f"{given} too small for one step of the largest global batch, {worst.batch} "
                f"(workers {workers}); raise it to at least {_at_least(worst, config)}, or remove that batch size or "
                "worker count"
            ]
        )


def _at_least(worst: Budget, config: TrainingConfig) -> str:
    """The smallest budget of the same kind that has a whole step; epochs rounded up to three significant digits."""
    if config.epochs is None:
        return f"{worst.batch}"
    least = Context(prec=3, rounding=ROUND_CEILING).divide(worst.batch, config.images_per_epoch(SAMPLES[config.data]))
    return f"{least.normalize():f}"
