"""Samplers of Optuna for one study of all groups: they learn from all, and are asked for a point of one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.search_space import IntersectionSearchSpace
from optuna.trial import FrozenTrial, TrialState
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

Array = NDArray[np.float64]

_DRAWS = 64  # from the mixture of all groups, until one is of the group that is asked for
_CANDIDATES, _NEAR = 2048, 0.05  # points at which the expected improvement is looked at, and how far around the best
_SCALES = (0.05, 20.0)  # bounds of the kernel's lengths, in ranges of a parameter


class TPEInContext(TPESampler):
    """TPE of all groups, whose draws are kept when they are of the group given by `fixed`; plain TPE without it."""

    def __init__(self, fixed: Mapping[str, Any], *, seed: int, n_startup_trials: int) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials)
        self._fixed = dict(fixed)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """See Optuna's BaseSampler; of draws that are all of other groups the last one is moved to this one."""
        here = {name: value for name, value in self._fixed.items() if name in search_space}  # it has no constants
        drawn: dict[str, Any] = {}
        for _ in range(_DRAWS):
            drawn = super().sample_relative(study, trial, search_space)
            if not drawn or here.items() <= drawn.items():
                return drawn
        return {**drawn, **here}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """See Optuna's BaseSampler."""
        if param_name in self._fixed:
            return self._fixed[param_name]
        return super().sample_independent(study, trial, param_name, param_distribution)


class GPInContext(BaseSampler):
    """A Gaussian process over all groups; the expected improvement is maximised within the group given by `fixed`.

    The kernel is Matern 5/2 with a length for each parameter. Trials that run count as if they had come to what is
    expected of them, so that several are not sent to one place; points that the study has are not proposed again while
    there are others. Expected improvement as in Jones, Schonlau and Welch (1998), equation 15.
    """

    def __init__(self, fixed: Mapping[str, Any], *, seed: int, n_startup_trials: int) -> None:
        self._fixed, self._startup = dict(fixed), n_startup_trials
        self._generator = np.random.default_rng(seed)
        self._independent = RandomSampler(seed=seed)
        self._space = IntersectionSearchSpace()

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002
        """See Optuna's BaseSampler."""
        return {name: one for name, one in self._space.calculate(study).items() if not one.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """See Optuna's BaseSampler."""
        told = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        others = study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.FAIL))
        if not search_space or len(told) < self._startup:
            return {}
        known, values = _rows(told, search_space), np.array([one.value for one in told], dtype=float)
        unknown = _rows([one for one in others if one.number != trial.number], search_space)
        process = _fitted(known, values, unknown)
        seen = np.concatenate([known, unknown])
        drawn = self._generator.random((_CANDIDATES, len(search_space)))
        best, _ = self._best(process, drawn, search_space, seen, values.min())
        near = best + _NEAR * self._generator.standard_normal((_CANDIDATES, len(search_space)))
        near[0] = best
        _, point = self._best(process, np.clip(near, 0.0, 1.0 - 1e-9), search_space, seen, values.min())
        return point

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """See Optuna's BaseSampler."""
        if param_name in self._fixed:
            return self._fixed[param_name]
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def _best(
        self,
        process: GaussianProcessRegressor,
        shares: Array,  # [candidates, parameters], each in [0, 1)
        space: Mapping[str, BaseDistribution],
        seen: Array,
        lowest: float,
    ) -> tuple[Array, dict[str, Any]]:
        """The shares of the largest expected improvement, and the parameters there."""
        points = [self._point(share, space) for share in shares]
        rows = np.array([_row(point, space) for point in points])
        mean, deviation = process.predict(rows, return_std=True)
        z = (lowest - mean) / np.maximum(deviation, 1e-12)
        gain = (lowest - mean) * norm.cdf(z) + deviation * norm.pdf(z)
        distances = np.abs(rows[:, None, :] - seen[None, :, :]).max(axis=2)  # [candidates, seen]
        repeated = np.min(distances, axis=1) < 1e-9
        number = int(np.argmax(np.where(repeated, -math.inf, gain)))
        return shares[number], points[number]

    def _point(self, shares: Array, space: Mapping[str, BaseDistribution]) -> dict[str, Any]:
        at = {name: value_at(share, one) for share, (name, one) in zip(shares.tolist(), space.items(), strict=True)}
        return {name: self._fixed.get(name, value) for name, value in at.items()}


def _fitted(known: Array, values: Array, unknown: Array) -> GaussianProcessRegressor:
    """The process of what is known, which then believes its own means of what is not."""
    lengths = Matern(np.ones(known.shape[1]), _SCALES, nu=2.5)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * lengths + WhiteKernel(1e-2, (1e-6, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound: the parameter hardly matters
        process = GaussianProcessRegressor(kernel, normalize_y=True).fit(known, values)
    if not len(unknown):
        return process
    believed = np.concatenate([values, process.predict(unknown)])
    again = GaussianProcessRegressor(process.kernel_, optimizer=None, normalize_y=True)
    return again.fit(np.concatenate([known, unknown]), believed)


def _rows(trials: Sequence[FrozenTrial], space: Mapping[str, BaseDistribution]) -> Array:
    """The points of trials, a row each; those that lack a parameter are left out."""
    rows = [_row(one.params, space) for one in trials if space.keys() <= one.params.keys()]
    return np.array(rows).reshape(len(rows), -1) if rows else np.zeros((0, _width(space)))


def _row(point: Mapping[str, Any], space: Mapping[str, BaseDistribution]) -> list[float]:
    """A point as numbers: each between 0 and 1, of a name one for each choice."""
    row: list[float] = []
    for name, one in space.items():
        if isinstance(one, CategoricalDistribution):
            row += [math.sqrt(0.5) * (choice == point[name]) for choice in one.choices]
        else:
            assert isinstance(one, FloatDistribution | IntDistribution)
            low, high, value = (_scaled(number, one) for number in (one.low, one.high, point[name]))
            row.append((value - low) / (high - low))
    return row


def _width(space: Mapping[str, BaseDistribution]) -> int:
    return sum(len(one.choices) if isinstance(one, CategoricalDistribution) else 1 for one in space.values())


def value_at(share: float, one: BaseDistribution) -> Any:
    """The value at a share of the way between the bounds, in [0, 1)."""
    if isinstance(one, CategoricalDistribution):
        return one.choices[int(share * len(one.choices))]
    assert isinstance(one, FloatDistribution | IntDistribution)
    low, high = _scaled(one.low, one), _scaled(one.high, one)
    value = low + share * (high - low)
    value = math.exp(value) if one.log else value
    value = round(value) if isinstance(one, IntDistribution) else value
    return min(max(value, one.low), one.high)  # a logarithm's exponential may lie a little outside


def _scaled(value: float, one: BaseDistribution) -> float:
    return math.log(value) if getattr(one, "log", False) else float(value)
