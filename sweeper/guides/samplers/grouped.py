"""Samplers of Optuna for one study of all groups: they learn from all, and are asked for a point of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.samplers import GPSampler, TPESampler
from optuna.trial import FrozenTrial

_DRAWS = 64  # from the mixture of all groups, until one is of the group that is asked for
_CANDIDATES, _NEAR = 2048, 0.05  # points at which the expected improvement is looked at, and how far around the best


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


class GPInContext(GPSampler):
    """A Gaussian process over all groups, whose acquisition function is maximised within the one given by `fixed`.

    Without that it is Optuna's own.
    """

    def __init__(self, fixed: Mapping[str, Any], *, seed: int, n_startup_trials: int) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials, warn_independent_sampling=False)
        self._fixed = dict(fixed)
        self._names: list[str] = []

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """See Optuna's BaseSampler."""
        self._names = list(search_space)
        return super().sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """See Optuna's BaseSampler."""
        if param_name in self._fixed:
            return self._fixed[param_name]
        return super().sample_independent(study, trial, param_name, param_distribution)

    def _optimize_acqf(self, acqf: Any, best_params: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Where Optuna lets one replace the search for the best point: among candidates of the group only.

        First far and wide, then with the numbers that are not stepped a little away from the best of these.
        """
        if not self._fixed:
            return super()._optimize_acqf(acqf, best_params)
        space, generator = acqf.search_space, self._rng.rng
        candidates = space.sample_normalized_params(_CANDIDATES, generator)
        columns = {number: self._fixed[name] for number, name in enumerate(self._names) if name in self._fixed}
        for column, value in columns.items():
            name, drawn = self._names[column], candidates
            # Of many groups one may be in none of so many candidates: then in the next ones.
            while not (here := [row for row in drawn if space.get_unnormalized_param(row)[name] == value]):
                drawn = space.sample_normalized_params(_CANDIDATES, generator)
            candidates[:, column] = here[0][column]
        best = candidates[int(np.argmax(acqf.eval_acqf_no_grad(candidates)))]
        near = np.tile(best, (_CANDIDATES, 1))
        moved = [number for number in space.continuous_indices if number not in columns]
        near[1:, moved] += _NEAR * generator.standard_normal((_CANDIDATES - 1, len(moved)))
        near = np.clip(near, 0.0, np.where(space.is_categorical, np.inf, 1.0))
        return np.asarray(near[int(np.argmax(acqf.eval_acqf_no_grad(near)))])
