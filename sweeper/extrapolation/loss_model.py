"""Curves that nobody has had: their mean and lowest loss by global batch and rate, from those that were measured.

A Gaussian process each for the logarithms of the two. Its inputs are the logarithms of rate / global batch and of the
rate: over images a small batch learns by the first alone, as the number of steps times the rate decides; so does a
large one, whose steps hardly differ from those of the whole gradient; and the second says when a run breaks down.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import LeaveOneGroupOut
from sklearn.neighbors import KNeighborsClassifier

from sweeper.extrapolation.estimate import Estimate, reach_of

Array: TypeAlias = NDArray[np.float64]
BatchAndRate: TypeAlias = tuple[int, float]  # global batch, learning rate

_FEWEST_CURVES, _MOST_CURVES = 4, 300  # that are learnt from
_NEIGHBOURS = 4  # that say whether a run would diverge
_LEAST = 1e-12  # a loss of zero has no logarithm


class Losses(NamedTuple):
    """Mean over the run, and lowest."""

    mean: float
    lowest: float


@dataclass(frozen=True)
class PredictedLosses:
    """The same as estimates, and the chance that a run comes to its end with finite losses."""

    mean: Estimate
    lowest: Estimate
    healthy: float
    degrees: int

    def chance_at_most(self, threshold: float) -> float:
        """That the run is healthy and its lowest loss at most this."""
        if threshold <= 0:
            return 0.0
        deviation = max(self.lowest.reach / reach_of(self.degrees), 1e-9)
        far = (math.log(threshold) - math.log(self.lowest.value)) / deviation
        return self.healthy * float(student.cdf(far, self.degrees))


class LossModel:
    """Learns from the curves of one kind: `known` has None for those that diverged."""

    def __init__(self, known: Mapping[BatchAndRate, Losses | None]) -> None:
        finite = _thinned({point: losses for point, losses in known.items() if losses is not None})
        self._degrees = max(1, len(finite) - 1)
        self._processes: list[_Process] = []
        if len(finite) >= _FEWEST_CURVES:
            inputs = np.array([_input(point) for point in finite])
            batches = [batch for batch, _ in finite]
            self._processes = [
                _Process(inputs, np.log(np.maximum(column, _LEAST)), batches)
                for column in np.array(list(finite.values())).T
            ]
        self._votes: Any = None
        if any(losses is None for losses in known.values()) and finite:
            self._votes = KNeighborsClassifier(min(_NEIGHBOURS, len(known)), weights="distance")
            self._votes.fit([_input(point) for point in known], [losses is not None for losses in known.values()])

    def at(self, point: BatchAndRate) -> PredictedLosses | None:
        """What a curve would come to; None where too few are known."""
        if not self._processes:
            return None
        mean, lowest = (process.estimate(_input(point), self._degrees) for process in self._processes)
        healthy = float(self._votes.predict_proba([_input(point)])[0, 1]) if self._votes else 1.0
        return PredictedLosses(mean, lowest, healthy, self._degrees)


class _Process:
    """A Gaussian process whose deviations are those that it shows where it predicts a global batch from the others."""

    def __init__(self, inputs: Array, outputs: Array, batches: Sequence[int]) -> None:
        self._mean = float(outputs.mean())
        outputs = outputs - self._mean
        self._process = _fitted(inputs, outputs, _kernel(inputs, max(1e-3, float(outputs.std()))))
        self._enlarged = self._errors_beside_deviations(inputs, outputs, batches)

    def estimate(self, inputs: Sequence[float], degrees: int) -> Estimate:
        value, deviation = self._process.predict([inputs], return_std=True)
        return Estimate(
            math.exp(self._mean + float(value[0])), reach_of(degrees) * self._enlarged * float(deviation[0])
        )

    def _errors_beside_deviations(self, inputs: Array, outputs: Array, batches: Sequence[int]) -> float:
        """Root mean square of errors in deviations, at least 1: each batch is predicted from the others."""
        if len(set(batches)) < 2:
            return 1.0
        errors: list[float] = []
        for rest, left_out in LeaveOneGroupOut().split(inputs, groups=batches):
            process = _fitted(inputs[rest], outputs[rest], self._process.kernel_, optimizer=None)
            values, deviations = process.predict(inputs[left_out], return_std=True)
            errors += list((values - outputs[left_out]) / np.maximum(deviations, 1e-9))
        return max(1.0, float(np.sqrt(np.mean(np.square(errors)))))


def _thinned(known: dict[BatchAndRate, Losses]) -> dict[BatchAndRate, Losses]:
    """As many as can be learnt from soon, good and bad ones."""
    if len(known) <= _MOST_CURVES:
        return known
    ordered = sorted(known, key=lambda point: known[point].mean)
    return {point: known[point] for point in ordered[:: math.ceil(len(known) / _MOST_CURVES)]}


def _fitted(inputs: Array, outputs: Array, kernel: Any, **options: Any) -> GaussianProcessRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at a bound of its range a length is good enough
        return GaussianProcessRegressor(kernel, alpha=1e-6, **options).fit(inputs, outputs)


def _kernel(inputs: Array, deviation: float) -> Any:
    variance = deviation**2
    lengths = Matern([2.0] * inputs.shape[1], (0.5, 20.0), nu=1.5)  # in doublings
    noise = WhiteKernel(0.01 * variance, (1e-4 * variance, variance))
    return ConstantKernel(variance, (0.1 * variance, 30 * variance)) * lengths + noise


def _input(point: BatchAndRate) -> list[float]:
    batch, rate = point
    return [math.log2(rate / batch), math.log2(rate)]
