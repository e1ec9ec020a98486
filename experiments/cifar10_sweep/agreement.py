"""How far two grids agree: in the order of their cells, and in what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from dashboards.figures.tables import Outcome
from experiments.cifar10_sweep.published import SETTINGS, PublishedGrid
from experiments.cifar10_sweep.recorded import Grid, Setting

_FEWEST = 4  # cells of a batch size whose order says something


@dataclass(frozen=True)
class Agreement:
    """Spearman's rank correlation of the areas of the `common` cells, None where they are too few.

    `within` compares cells of equal batch size alone: the mean over the batch sizes, weighted by their numbers of
    cells. The axis hardly matters there, because steps of one batch size take about equally long.
    """

    common: int
    overall: float | None
    within: float | None
    batch_sizes: int


def agreement(ours: Grid, theirs: PublishedGrid) -> Agreement:
    """The order of the cells that have areas in both."""
    common = _common(ours, theirs)
    rows = [[one for one in common if one[0] == batch] for batch in dict.fromkeys(one[0] for one in common)]
    found = [(len(row), spearman(*_areas(row, ours, theirs))) for row in rows if len(row) >= _FEWEST]
    known = [(cells, value) for cells, value in found if value is not None]
    within = sum(cells * value for cells, value in known) / sum(cells for cells, _ in known) if known else None
    return Agreement(len(common), spearman(*_areas(common, ours, theirs)), within, len(known))


@dataclass(frozen=True)
class Clock:
    """What a step takes: `step_s` seconds, and `image_s` more for each image of a worker."""

    step_s: float
    image_s: float

    def areas(self, over_steps: Grid) -> dict[Setting, float]:
        """The areas of a grid over the seconds of this clock, from its areas over steps."""
        found = {one: over_steps.area(one) for one in over_steps.trials}
        return {one: area * (self.step_s + self.image_s * one[0]) for one, area in found.items() if area is not None}


def published_clock(over_steps: Grid, theirs: PublishedGrid) -> Clock | None:
    """The clock by which our areas over steps come nearest to the published ones, by least squares of their ratios.

    It has two numbers for all cells of a worker count. None where there are too few cells.
    """
    common = _common(over_steps, theirs)
    if len(common) < _FEWEST:
        return None
    import numpy as np
    from scipy.optimize import nnls

    own, published = (np.array(areas) for areas in _areas(common, over_steps, theirs))
    ratios = own / published
    (step_s, image_s), _ = nnls(np.stack([ratios, ratios * [batch for batch, _ in common]], axis=1), np.ones(len(own)))
    return Clock(float(step_s), float(image_s))


def agreement_on(clock: Clock, over_steps: Grid, theirs: PublishedGrid) -> float | None:
    """Spearman's correlation of the published areas and ours on a clock, over the cells that have both."""
    areas = clock.areas(over_steps)
    common = _common(over_steps, theirs)
    return spearman([areas[one] for one in common], [theirs.areas[one] for one in common])


def agreement_by_batch(over_steps: Grid, theirs: PublishedGrid) -> float | None:
    """Spearman's correlation of the published areas and 1 / batch size, over the same cells.

    No curve of ours counts in it: only a higher correlation is agreement in more than the batch size.
    """
    common = _common(over_steps, theirs)
    return spearman([1 / batch for batch, _ in common], [theirs.areas[one] for one in common])


def winner_on(clock: Clock, over_steps: Grid, threshold: float) -> Setting | None:
    """Which setting would win on a clock."""
    areas = clock.areas(over_steps)
    return min(over_steps.ranking(threshold), key=lambda one: areas[one], default=None)


def fates(ours: Grid, theirs: PublishedGrid) -> Counter[tuple[Outcome, Outcome]]:
    """How many settings came to what in the paper, and to what in our grid."""
    return Counter((theirs.outcome(one), ours.outcome(one)) for one in SETTINGS if one in ours.trials)


def judged_alike(ours: Grid, theirs: PublishedGrid, threshold: float) -> int:
    """How many settings qualify in both, or in neither, if ours have to come to another threshold."""
    return sum(
        (ours.outcome(one, threshold) is Outcome.QUALIFIED) == (one in theirs.qualified)
        for one in SETTINGS
        if one in ours.trials
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer cells than say something, or if all are equal."""
    if len(first) < _FEWEST or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    from scipy import stats

    found = float(stats.spearmanr(first, second).statistic)
    return found if isfinite(found) else None


def _common(ours: Grid, theirs: PublishedGrid) -> list[Setting]:
    """The settings that have an area in both."""
    return [one for one in SETTINGS if one in theirs.areas and ours.area(one) is not None]


def _areas(settings: Sequence[Setting], ours: Grid, theirs: PublishedGrid) -> tuple[list[float], list[float]]:
    own = [area for one in settings if (area := ours.area(one)) is not None]
    return own, [theirs.areas[one] for one in settings]
