"""The time of a step by workers and images of each: computing, and exchanging what was computed.

seconds(W, B) = compute(B) (1 + slowing log2 W) + latency h(W) + transfer g(W)

compute is linear between the measured B and does not fall; h and g count the messages and the bytes of an exchange
among W ranks (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005):
log2 W messages and 2 (W - 1) / W times the gradients in a tree or by halves, 2 (W - 1) messages around a ring, and
W - 1 of everything at a parameter server. The gradients' bytes are the same in all cells of a model, and so part of
`transfer`. Ranks that wait for the slowest, or share a memory, make `slowing`. All factors are at least zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sweeper.extrapolation.estimate import NORMAL, Estimate, reach_of
from sweeper.extrapolation.measured_runs import Run
from sweeper.plan.trial import TrialState

Cell: TypeAlias = tuple[int, int]  # workers, images of each
Array: TypeAlias = NDArray[np.float64]

_LEAST_NOISE = 0.005  # relative, of a cell's time
_LEAST_GROWTH = 0.01  # by which another doubling of the workers may surprise, whatever the measured ones did
_FIRST_EXCHANGE = 0.05  # the same of one worker, who exchanges nothing, where all measured ones do
_BATCH_SURPRISE = 0.1  # the same of batch sizes, for a factor of e
_FEWEST_DEGREES = 2
_LEAST_PART = 0.1  # of the shortest step: no step is forecast to take nothing


def cells_of(runs: Iterable[Run]) -> dict[Cell, float]:
    """Seconds of a step by workers and images of each: the median over the trials of all rates, stopped ones too."""
    times: dict[Cell, list[float]] = {}
    for run in runs:
        ended = run.state in (TrialState.COMPLETED, TrialState.PRUNED)
        if ended and run.timed and run.steps and run.seconds and run.points > 1:
            times.setdefault((run.workers, run.setting.share(run.workers)), []).append(run.seconds / run.steps)
    return {cell: median(seconds) for cell, seconds in times.items()}


def by_time(runs: Iterable[Run]) -> dict[Hashable, list[Run]]:
    """Runs by the kind of their steps: those of one kind differ in their times by workers and batch only."""
    found: dict[Hashable, list[Run]] = {}
    for run in runs:
        found.setdefault(run.setting.time, []).append(run)
    return found


def step_times(runs: Iterable[Run]) -> dict[Hashable, StepTimes]:
    """A model for each kind of steps that two worker counts or more have taken."""
    kinds = by_time(runs)
    cells = {time: cells_of(ones) for time, ones in kinds.items()}
    return {
        time: StepTimes(found, kinds[time][0].setting.method)
        for time, found in cells.items()
        if len({workers for workers, _ in found}) > 1
    }


class StepTimes:
    """The model, fitted to `cells` of at least two worker counts by least squares of relative errors."""

    def __init__(self, cells: Mapping[Cell, float], method: str = "auto") -> None:
        self._cells, self._method = dict(cells), method
        self._counts = sorted({workers for workers, _ in cells})
        shares = sorted({share for _, share in cells})
        fits_all = len(cells) >= len(shares) + len(self._exchange(2)) + 1
        self._knots = shares if fits_all else list(dict.fromkeys((shares[0], shares[-1])))
        self._compute = np.ones(len(self._knots))  # at the first knot, and what each further one adds
        self._factors = np.zeros(len(self._exchange(2)))
        self._slowing = 0.0
        self._least = _LEAST_PART * min(cells.values())
        self._fit()
        self._growth = self._growth_per_doubling()

    def seconds(self, workers: int, share: int) -> Estimate:
        """Of a step.

        The interval has the scatter about the fit, and grows with the distance to the measured worker counts: each
        doubling may be off by as much as the measured ones have made steps longer.
        """
        sure = reach_of(self._degrees) * self._scatter
        if (workers, share) in self._cells:  # measured: better than any model
            return Estimate(self._cells[workers, share], sure)
        far = self._growth * distance(math.log2(workers), [math.log2(count) for count in self._counts])
        far = math.hypot(far, _FIRST_EXCHANGE) if workers == 1 < self._counts[0] else far
        far *= reach_of(max(_FEWEST_DEGREES, len(self._counts) - 1))  # known from as few steps between counts
        batch = NORMAL * _BATCH_SURPRISE * distance(math.log(share), [math.log(knot) for knot in self._knots])
        return Estimate(self._mean(workers, share), math.hypot(sure, far, batch))

    def measured(self, workers: int, share: int) -> bool:
        """Whether steps of so many workers, with so many images each, were taken."""
        return (workers, share) in self._cells

    def compute(self, share: int) -> float:
        """Seconds that a worker alone takes for so many images; does not fall with them."""
        first = self._knots[0]
        if len(self._knots) == 1:  # between one that does not grow with the batch and one that grows like it
            return float(self._compute[0]) * math.sqrt(share / first)
        linear = float(_ramps(share, self._knots) @ self._compute)
        return max(linear, float(self._compute[0]) * min(1.0, share / first))

    def _mean(self, workers: int, share: int) -> float:
        slowed = self.compute(share) * (1 + self._slowing * math.log2(workers))
        return max(self._least, slowed + float(np.dot(self._exchange(workers), self._factors)))

    def _exchange(self, workers: int) -> list[float]:
        """Messages one after another, and gradients' worth of bytes."""
        bytes_ = 2 * (workers - 1) / workers
        if self._method == "parameter-server":
            return [workers - 1.0]
        if self._method == "ring":
            return [2.0 * (workers - 1), bytes_]
        return [math.log2(workers), bytes_]

    def _fit(self) -> None:
        """Twice: slowing is in proportion to computing, which the first time tells."""
        seconds = np.array(list(self._cells.values()))
        scale = float(np.median(seconds))
        rows = np.array(
            [[*_ramps(share, self._knots), *self._exchange(workers), 0.0] for workers, share in self._cells]
        )
        for _ in range(2):
            found, _ = nnls(rows * scale / seconds[:, None], np.ones(len(seconds)))
            knots = len(self._knots)
            self._compute, self._factors = found[:knots] * scale, found[knots:-1] * scale
            self._slowing = float(found[-1])
            used = int(np.count_nonzero(found))
            rows[:, -1] = [self.compute(share) / scale * math.log2(workers) for workers, share in self._cells]
        means = np.array([self._mean(*cell) for cell in self._cells])
        self._degrees = max(_FEWEST_DEGREES, len(seconds) - used)
        self._scatter = max(_LEAST_NOISE, float(np.sqrt(np.sum(np.log(means / seconds) ** 2) / self._degrees)))

    def _growth_per_doubling(self) -> float:
        share = self._knots[len(self._knots) // 2]
        times = np.log([self._mean(count, share) for count in self._counts])
        growths = np.diff(times) / np.diff(np.log2(self._counts))
        return max(_LEAST_GROWTH, float(np.sqrt(np.mean(growths**2))))


def _ramps(share: int, knots: Sequence[int]) -> Array:
    """1, and how far `share` is on the way from each knot to the next; beyond the ends the nearest way goes on."""
    ways = [(share - low) / (high - low) for low, high in itertools.pairwise(knots)]
    last = len(ways) - 1
    clipped = [
        float(np.clip(way, -math.inf if n == 0 else 0, math.inf if n == last else 1)) for n, way in enumerate(ways)
    ]
    return np.array([1.0, *clipped])


def distance(value: float, known: Sequence[float]) -> float:
    """How far a value is from known ones: 0 at one, the distance to the nearest outside.

    Between two it is what the deviation of a walk would be that is known at both: left right / (left + right).
    """
    below = [value - one for one in known if one <= value]
    above = [one - value for one in known if one >= value]
    if not below or not above:
        return min([*below, *above])
    left, right = min(below), min(above)
    return left * right / (left + right) if left + right else 0.0
