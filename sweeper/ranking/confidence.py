"""How sure a winner is: intervals of mean areas, and whether two settings can be told apart by their seeds.

The tests are scipy's, on the logarithms of the areas, whose spread goes with their size. SciPy is imported only where
there are seeds to compare.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sweeper.ranking import Candidate
from sweeper.ranking.settings import mean, seed_of
from sweeper.spec.repeats import LEVEL

_FEWEST = 2  # seeds from which on a spread is known


@dataclass(frozen=True)
class Comparison:
    """Whether a setting can be told apart from the best of its group, of which it has the larger mean.

    `p_value` is two-sided; `adjusted` is that by Holm for all `compared` with the best, times the looks of a race.
    """

    method: str
    p_value: float
    adjusted: float
    compared: int
    looks: int
    level: float

    @property
    def separated(self) -> bool:
        """Whether they are told apart at the level."""
        return self.adjusted < 1 - self.level


def interval(areas: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Student's interval of the mean of areas at a level, cut at zero where none is below; None for fewer than two."""
    if len(areas) < _FEWEST:
        return None
    from scipy import stats

    if len(set(areas)) == 1:
        return areas[0], areas[0]
    with _without_warnings():
        low, high = stats.ttest_1samp(areas, 0.0).confidence_interval(level)
    return float(max(low, 0.0) if min(areas) >= 0 else low), float(high)


def within_reach(areas: Sequence[float], level: float = LEVEL, looks: int = 1) -> float:
    """The largest mean area that is not told apart from that of these, for as many seeds that spread alike.

    The difference of two such means spreads more by the root of two. Infinite for fewer than two areas.
    """
    found = interval(areas, 1 - (1 - level) / looks)
    if found is None:
        return math.inf
    middle = mean(areas)
    return middle + math.sqrt(2) * (found[1] - middle)


def areas_of(setting: Candidate) -> list[float]:
    """The areas of its seeds; those of a trial without repeats are its own alone."""
    return [trial.area for trial in setting.trials if trial.area is not None]


def compare(
    best: Candidate, others: Sequence[Candidate], level: float = LEVEL, looks: int = 1
) -> list[Comparison | None]:
    """Each of the `others` with the best of their group, all of them qualified; None where seeds are too few.

    Those that share seeds with it are compared seed by seed (paired t-test), the others by Welch's. The p-values are
    corrected for the number of comparisons (Holm 1979) and, by Bonferroni, for the `looks` that are taken while seeds
    come in. That the best is found by the same data needs no more: of those that are alike, it is told apart from the
    second with no larger chance (Gutmann and Maymin 1987, Is the selected population the best?).
    """
    found = _tests(best, others)
    known = [test for test in found if test is not None]
    adjusted = iter(holm([p_value for _, p_value in known]))
    return [
        test and Comparison(test[0], test[1], min(1.0, looks * next(adjusted)), len(known), looks, level)
        for test in found
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, in their order (Holm 1979, A simple sequentially rejective procedure)."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def _tests(best: Candidate, others: Sequence[Candidate]) -> list[tuple[str, float] | None]:
    """Method and p-value of each comparison."""
    if len(areas_of(best)) < _FEWEST:
        return [None] * len(others)
    own = _by_seed(best)
    found: list[tuple[str, float] | None] = [None] * len(others)
    paired: dict[tuple[Any, ...], list[tuple[int, list[float]]]] = {}
    for i, other in enumerate(others):
        theirs = _by_seed(other)
        shared = tuple(seed for seed in own if seed in theirs)
        if len(shared) >= _FEWEST:
            paired.setdefault(shared, []).append((i, [theirs[seed] for seed in shared]))
        elif len(areas_of(other)) >= _FEWEST:
            found[i] = _welch(areas_of(best), areas_of(other))
    for shared, rows in paired.items():
        p_values = _paired([own[seed] for seed in shared], [areas for _, areas in rows])
        for (i, areas), p_value in zip(rows, p_values, strict=True):
            of = _scale_name([*own.values(), *areas])
            found[i] = f"paired t-test on {of} of {len(shared)} seeds", p_value
    return found


def _by_seed(setting: Candidate) -> Mapping[Any, float]:
    """The area of each seed; none where trials have no seeds of their own."""
    known = {seed_of(trial): trial.area for trial in setting.repeats if trial.area is not None}
    return {} if None in known else known


def _paired(own: Sequence[float], theirs: Sequence[Sequence[float]]) -> list[float]:
    """P-values of the rows of areas against the best one's, seed by seed; all rows in one call."""
    import numpy as np
    from scipy import stats

    rows, one = np.asarray(theirs), np.asarray(own)
    logarithms = (rows > 0).all(axis=1) & bool((one > 0).all())
    p_values = np.empty(len(rows))
    for chosen, scale in ((logarithms, np.log), (~logarithms, np.asarray)):
        if chosen.any():
            with _without_warnings():
                p_values[chosen] = stats.ttest_rel(scale(rows[chosen]), scale(one)[None, :], axis=1).pvalue
    return [1.0 if math.isnan(p_value) else float(p_value) for p_value in p_values]  # NaN: the same areas throughout


def _welch(own: Sequence[float], theirs: Sequence[float]) -> tuple[str, float]:
    import numpy as np
    from scipy import stats

    scale = np.log if min(*own, *theirs) > 0 else np.asarray
    with _without_warnings():
        p_value = float(stats.ttest_ind(scale(theirs), scale(own), equal_var=False).pvalue)
    method = f"Welch's t-test on {_scale_name([*own, *theirs])} of {len(own)} and {len(theirs)} seeds"
    return method, 1.0 if math.isnan(p_value) else p_value


def _scale_name(areas: Sequence[float]) -> str:
    return "logarithms of the areas" if min(areas) > 0 else "the areas"


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Areas that hardly differ, as over images, are told apart all the same: a warning would say nothing new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
