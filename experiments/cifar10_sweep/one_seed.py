"""What `sweeper best` says of a grid by one seed, beside what the other seeds of that grid came to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from experiments.cifar10_sweep.recorded import Grid, Setting, Sweeps, references, setting_of
from sweeper.ranking import best_per_group, rank
from sweeper.ranking.belief import beliefs
from sweeper.ranking.settings import without_seed

_FEWEST_OTHERS = 2  # seeds, of which a mean is taken


@dataclass(frozen=True)
class Judged:
    """The recommendation from one seed of a grid; regrets are shares of the smallest cost by the other seeds.

    A setting's cost is its mean area over the other seeds with which it qualifies, divided by their share of all, as
    `sweeper.ranking.belief` has it. `stated` is the regret that the recommendation expects of itself.
    """

    workers: int
    over: str
    seed: int
    winner: Setting
    recommended: Setting
    best: Setting
    probability: float
    stated: float
    regret: float
    winners_regret: float
    not_ruled_out: tuple[Setting, ...]


def judged(sweeps: Sweeps) -> list[Judged]:
    """Of each seed of the grids that were run with several; one worker's over seconds and over images."""
    found = []
    for reference in references(sweeps):
        if len(reference.sources) <= _FEWEST_OTHERS:
            continue
        for over in dict.fromkeys((reference.grid().over, "images")):
            grids = {seed: reference.grid(seed, over) for seed in reference.sources}
            found += [one for seed in sorted(grids) for one in _judged(seed, grids)]
    return found


def _judged(seed: int, grids: Mapping[int, Grid]) -> Iterator[Judged]:
    """Yields nothing if no setting won by this seed or by the others, or if there is no recommendation."""
    grid = grids[seed]
    trials = [one._replace(parameters=without_seed(one.parameters)) for one in grid.trials.values()]
    (group,) = best_per_group(trials, grid.threshold, ("workers",))
    told = beliefs(group, grid.threshold)
    costs = {setting: _cost(setting, seed, grids) for setting in grid.trials}
    best = min(costs, key=costs.__getitem__)
    if told is None or group.winner is None or math.isinf(costs[best]):
        return
    recommended, winner = setting_of(told.recommended.setting), setting_of(group.winner)
    yield Judged(
        grid.workers,
        grid.over,
        seed,
        winner,
        recommended,
        best,
        told.recommended.probability,
        told.recommended.regret,
        costs[recommended] / costs[best] - 1,
        costs[winner] / costs[best] - 1,
        tuple(setting_of(one.setting) for one in told.not_ruled_out),
    )


def _cost(setting: Setting, seed: int, grids: Mapping[int, Grid]) -> float:
    """By all seeds but one; infinite where the setting qualifies with none of them."""
    others = [grid for other, grid in grids.items() if other != seed]
    qualified = [one for grid in others for one in rank([grid.trials[setting]], grid.threshold)]
    areas = [one.area for one in qualified if one.area is not None]
    return fmean(areas) * len(others) / len(areas) if areas else math.inf
