"""One trial, made and checked: from a point of the space, or from another trial with another seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from engine.config import TrainingConfig
from sweeper.errors import SpecError
from sweeper.plan.content import content_key
from sweeper.plan.trial import TrialSpec
from sweeper.spec import SweepSpec, replace_field
from sweeper.spec.axes import SEED, WORKERS
from sweeper.spec.command import CommandConfig
from sweeper.spec.repeats import gives_seeds
from sweeper.spec.wording import describe_faults


def trial_at(spec: SweepSpec, point: Mapping[str, Any], repeat: int) -> TrialSpec:
    """The trial at a point, with the seed of a repeat, from 0 on, where there are several.

    A field that is None keeps the value in `trial`, and has none in a command.

    Raises:
        SpecError: it cannot be trained.
    """
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
        _check_groups(config, workers)
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


def _check_groups(config: TrainingConfig, workers: int) -> None:
    try:
        config.sample_groups(workers)
    except ValueError as error:
        raise SpecError([f"space.{error}"]) from None


def _parameters(config: TrainingConfig, workers: int, changes: dict[str, Any]) -> dict[str, Any]:
    size = (
        {"global_batch_size": config.global_batch_size}
        if config.global_batch_size is not None
        else {"batch_size": config.own_batch}
    )
    always = {WORKERS: workers, **size, "learning_rate": config.learning_rate}
    return {**always, **{name: value for name, value in changes.items() if value is not None or name not in always}}


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
