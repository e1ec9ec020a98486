"""The order of a grid's trials under the exact bound: short ones first, and of these the ones that look best.

The bound stops a trial once its area exceeds the best one known. So it saves most when a good area is known early, and
that costs least where trials are short. How long a trial takes and how good it is, is learnt from its finished
neighbours. The order never changes who wins.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.ranking import group_key
from sweeper.spec.axes import WORKERS

Array: TypeAlias = NDArray[np.float64]

_NEAREST = 64  # finished neighbours that count, at most
_UNQUALIFIED = 1.5  # what did not qualify counts as so much worse than the best, in logarithms of the area
_SHORTNESS = 4.0  # what the logarithm of the duration weighs against that of the area
_OTHER_GROUP = 0.5  # a neighbour in another group is so much farther away, in ranges of a parameter
_MOST_ORDERED, _MOST_KNOWN = 500, 256  # of waiting trials, and of ended ones
_BATCHES = ("batch_size", "global_batch_size")


class _Known(NamedTuple):
    group: int
    row: int
    area: float  # or its lower bound; infinite where the trial does not qualify
    seconds: float


class BestFirst:
    """Which of the waiting trials of a sweep to start next; `trials` are the parameters of all, by id.

    What an order of fewer trials has learnt `before` is kept.

    A trial's coordinates are the logarithms of its numbers, scaled to the range that each has in the sweep, with the
    global batch as one more; names count as one range apart.
    """

    def __init__(
        self, trials: Mapping[str, Mapping[str, Any]], group_by: Sequence[str], before: BestFirst | None = None
    ) -> None:
        self._number = {trial: number for number, trial in enumerate(trials)}
        keys = [group_key(parameters, group_by) for parameters in trials.values()]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self._groups = np.array([numbers[key] for key in keys])
        self._coordinates = coordinates_of(list(trials.values()))
        self._batches = np.array([_global_batch(parameters) for parameters in trials.values()])
        self._known: dict[str, _Known] = {}
        for trial, known in before._known.items() if before else ():
            self.ended(trial, known.area, known.seconds)

    def ended(self, trial: str, area: float | None, seconds: float) -> None:
        """A trial has ended with this area, None where it does not qualify; `seconds` is how long it takes in all.

        Of one that was pruned, the area is its lower bound, and the seconds are what it would have taken.
        """
        number = self._number.get(trial)
        if number is not None and seconds > 0:
            known = math.inf if area is None else area
            self._known[trial] = _Known(int(self._groups[number]), number, known, seconds)

    def ordered(self, waiting: Sequence[str]) -> list[str]:
        """These in the order in which to start them; the largest global batch first while nothing is known.

        Of many only the first are put in order: by the time that the others come up, more is known.
        """
        first, others = waiting[:_MOST_ORDERED], waiting[_MOST_ORDERED:]
        if len(first) < 2:
            return list(waiting)
        rows = [self._number[trial] for trial in first]
        scores = self._scores(np.array(rows)) if self._known else -self._batches[rows]
        return [*(first[i] for i in np.argsort(scores, kind="stable")), *others]

    def _scores(self, rows: NDArray[np.int64]) -> Array:
        known = list(self._known.values())[-_MOST_KNOWN:]
        rows_known = [one.row for one in known]
        apart = self._groups[rows, None] != self._groups[None, rows_known]
        steps = self._coordinates[rows, None, :] - self._coordinates[None, rows_known, :]
        distances = np.sqrt((steps**2).sum(axis=2)) + _OTHER_GROUP * apart
        count = min(_NEAREST, len(known))
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        weights = 1.0 / (np.take_along_axis(distances, nearest, axis=1) ** 2 + 1e-3)
        values = _regrets(known) + _SHORTNESS * np.log([one.seconds for one in known])
        return np.asarray((weights * values[nearest]).sum(axis=1) / weights.sum(axis=1))


def _regrets(known: Sequence[_Known]) -> Array:
    """How much larger than the best of its group each area is, as a logarithm."""
    best: dict[int, float] = {}
    for one in known:
        if 0 < one.area < best.get(one.group, math.inf):
            best[one.group] = one.area
    return np.array([_regret(one.area, best.get(one.group)) for one in known])


def _regret(area: float, best: float | None) -> float:
    if best is None or not math.isfinite(area):
        return _UNQUALIFIED
    return min(_UNQUALIFIED, math.log(max(area, best) / best))


def coordinates_of(trials: Sequence[Mapping[str, Any]], without: Container[str] = ()) -> Array:
    """Each trial as a point: a column for each name that varies, numbers between 0 and 1; `without` some of them."""
    rows = [_with_both_batches(parameters) for parameters in trials]
    names = dict.fromkeys(name for parameters in rows for name in parameters if name not in without)
    columns = [_column([parameters.get(name) for parameters in rows]) for name in names]
    return np.concatenate(columns, axis=1) if columns else np.zeros((len(trials), 0))


def _with_both_batches(parameters: Mapping[str, Any]) -> dict[str, Any]:
    one, whole = (parameters.get(name) for name in _BATCHES)
    workers = parameters.get(WORKERS, 1) / (parameters.get("parallel.channels") or 1)  # that have a batch of their own
    if isinstance(one, int) and whole is None:
        return {**parameters, _BATCHES[1]: one * workers}
    if isinstance(whole, int) and one is None:
        return {**parameters, _BATCHES[0]: whole / workers}
    return dict(parameters)


def _global_batch(parameters: Mapping[str, Any]) -> float:
    whole = _with_both_batches(parameters).get(_BATCHES[1])
    return float(whole) if isinstance(whole, int | float) else 0.0


def _column(values: Sequence[Any]) -> Array:
    """Numbers scaled, by their logarithms where all are above zero; of other values one column each.

    Beside numbers that some trials do not have a second column says which do; these lie between the others.
    """
    present = np.array([value is not None for value in values])
    if not present.all() and present.any():
        found = _column([value for value in values if value is not None])
        if found.shape[1] == 1:
            both = np.full((len(values), 2), 0.5)
            both[present, 0] = found[:, 0]
            both[:, 1] = present
            return both
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        numbers = np.array(values, dtype=float)
        scaled = np.log(numbers) if numbers.min() > 0 else numbers
        width = scaled.max() - scaled.min()
        return ((scaled - scaled.min()) / width if width > 0 else np.zeros_like(scaled))[:, None]
    kinds = list(dict.fromkeys(map(repr, values)))
    found = np.zeros((len(values), len(kinds)))
    found[np.arange(len(values)), [kinds.index(repr(value)) for value in values]] = math.sqrt(0.5)
    return found
