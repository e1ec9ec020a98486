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

    `within` compares cells of equal batch size alone, whose steps take equally long, so that it does not matter whether
    areas are over seconds or over images: the mean over the batch sizes, by their numbers of cells.
    """

    common: int
    overall: float | None
    within: float | None
    batch_sizes: int


def agreement(ours: Grid, theirs: PublishedGrid) -> Agreement:
    """The order of the cells that have areas in both."""
    common = [one for one in SETTINGS if one in theirs.areas and ours.area(one) is not None]
    rows = [[one for one in common if one[0] == batch] for batch in dict.fromkeys(one[0] for one in common)]
    found = [(len(row), spearman(*_areas(row, ours, theirs))) for row in rows if len(row) >= _FEWEST]
    known = [(cells, value) for cells, value in found if value is not None]
    within = sum(cells * value for cells, value in known) / sum(cells for cells, _ in known) if known else None
    return Agreement(len(common), spearman(*_areas(common, ours, theirs)), within, len(known))


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


def _areas(settings: Sequence[Setting], ours: Grid, theirs: PublishedGrid) -> tuple[list[float], list[float]]:
    own = [area for one in settings if (area := ours.area(one)) is not None]
    return own, [theirs.areas[one] for one in settings]
