"""A study of Optuna, made anew from what is known each time that a point is asked for.

So nothing is kept beside the store: a sweep that was interrupted goes on as if it had not been, several schedulers
agree, and a value that depends on the others, such as a penalty, is always the present one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler
from optuna.trial import TrialState as State
from optuna.trial import create_trial

from sweeper.guides.samplers.grouped import GPInContext, TPEInContext
from sweeper.integrations.optuna import quiet_optuna
from sweeper.spec.conditions import Conditions, Point, without_absent
from sweeper.spec.dimensions import Choices, Dimension
from sweeper.spec.search import Search

_STARTUP = 2  # the study begins with points of its own; an optimizer that knows less than this draws at random
_TRIES = 8  # at a point that is not there yet


@dataclass(frozen=True)
class Known:
    """A point that the sweep has: its value, None where it tells nothing; `ended` when no more is to come."""

    point: Point
    value: float | None
    ended: bool


def ask(
    search: Search,
    dimensions: Mapping[str, Dimension],
    conditions: Conditions,
    known: Sequence[Known],
    group: Point,
    seed: Sequence[int],
) -> Point:
    """The point to try next in a group, given all that the sweep knows.

    A field whose condition does not hold is None in it: of such a field the study knows only the trials that have it.
    `seed` is that of the search, the group's number, and the number of the attempt at a new point. The point may be one
    that is known where the sampler thinks of no other; the same arguments give the same point.
    """
    taken = {tuple(one.point.values()) for one in known}
    fixed = {name: dimensions[name].coordinate(value) for name, value in group.items() if search.study == "shared"}
    free = {name: one for name, one in dimensions.items() if name in fixed or name not in group}
    # CMA-ES is told all again, in order, and must draw as it did then: its seed is the group's.
    generator = np.random.default_rng([*seed[:2]] if search.method == "cma-es" else [*seed, len(known)])
    with quiet_optuna(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study = optuna.create_study(sampler=_sampler(search, fixed, int(generator.integers(2**31))))
        distributions = {name: _distribution(one) for name, one in free.items()}
        told = [one for one in known if search.study == "shared" or _is_in(one, group)]
        _tell(study, search, told, free, conditions, distributions)
        point: Point = {}
        for _ in range(_TRIES):
            trial = study.ask(distributions)
            values = {name: one.value(trial.params[name]) for name, one in free.items()}
            point = without_absent({name: {**values, **group}[name] for name in dimensions}, conditions)
            if tuple(point.values()) not in taken:
                break
            # As if it had been tried again: the same came of it.
            value = next((one.value for one in known if one.point == point and one.ended), None)
            study.tell(trial, value, state=State.COMPLETE if value is not None else State.FAIL)
    return point


def _is_in(known: Known, group: Point) -> bool:
    return all(known.point[name] == value for name, value in group.items())


def _sampler(search: Search, fixed: Mapping[str, Any], seed: int) -> BaseSampler:
    if search.method == "tpe":
        return TPEInContext(fixed, seed=seed, n_startup_trials=_STARTUP)
    if search.method == "gp":
        if fixed:
            return GPInContext(fixed, seed=seed, n_startup_trials=_STARTUP)
        return GPSampler(seed=seed, n_startup_trials=_STARTUP, warn_independent_sampling=False)
    return CmaEsSampler(seed=seed, warn_independent_sampling=False)


def _distribution(dimension: Dimension) -> BaseDistribution:
    if isinstance(dimension, Choices):
        last = len(dimension.values) - 1
        return IntDistribution(0, last) if dimension.ordered else CategoricalDistribution(tuple(range(last + 1)))
    if dimension.whole:
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _tell(
    study: optuna.Study,
    search: Search,
    known: Sequence[Known],
    dimensions: Mapping[str, Dimension],
    conditions: Conditions,
    every_distribution: Mapping[str, BaseDistribution],
) -> None:
    for one in known:
        present = {name for name in dimensions if not (name in conditions and one.point[name] is None)}
        coordinates = {name: dimensions[name].coordinate(one.point[name]) for name in dimensions if name in present}
        if None in coordinates.values():
            continue  # added by hand, from outside of the space
        distributions = {name: every_distribution[name] for name in coordinates}
        state = State.RUNNING if not one.ended else State.FAIL if one.value is None else State.COMPLETE
        value = one.value if state is State.COMPLETE else None
        if search.method == "cma-es":
            # Its sampler notes with each trial that it gives out what it needs to go on from there.
            study.enqueue_trial(coordinates)
            trial = study.ask(distributions)
            if state is not State.RUNNING:
                study.tell(trial, value, state=state)
        else:
            told = create_trial(params=coordinates, distributions=distributions, state=state, value=value)
            study.add_trial(told)
