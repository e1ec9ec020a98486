"""What pruning and sharing spend on a machine: training, wall time, and how good the winners are."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

from benchmarks.measure import Row, spread, versions
from benchmarks.recorded import Replayed, Sweep, grid_winners
from benchmarks.virtual_machine import Machine, replay_on

GROUP_BY = ("workers",)
WAYS = (("area", "none"), ("forecast", "none"), ("forecast", "equivalent"))


def machine_rows(
    machine: Machine, sweep: Sweep, threshold: float | None, count: int, ways: Sequence[tuple[str, str]] = WAYS
) -> Iterator[Row]:
    """Of each way to prune and to reuse: shares of the grid's training and wall time, over so many random orders."""
    grid = replay_on(machine, sweep, threshold, seed=0)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        for prune, reuse in ways:
            run = partial(replay_on, machine, sweep, threshold, prune=prune, reuse=reuse)
            found = list(pool.map(run, range(count)))
            yield from _rows(f"prune: {prune}, reuse: {reuse}", sweep, threshold, grid, found)


def _rows(name: str, sweep: Sweep, threshold: float | None, grid: Replayed, found: Sequence[Replayed]) -> Iterator[Row]:
    used, count = versions("numpy", "scikit-learn"), len(found)
    for what, of_grid, values in (
        ("training", grid.spent, [one.spent for one in found]),
        ("wall time", grid.wall, [one.wall for one in found]),
    ):
        shares = [value / of_grid for value in values]
        share = statistics.mean(shares)
        yield Row(f"{name}: share of the {what}", share, "", "grid", 1.0, share, count, spread(shares), used)
    true = grid_winners(sweep, threshold, GROUP_BY)
    kept = sum(one.winners == true for one in found)
    yield Row(f"{name}: orders with all winners", kept, "", "all", count, kept / count, count, 0.0, used)
    worst = max(worst_ratio(sweep, true, one.winners) for one in found)
    yield Row(f"{name}: largest area of a winner", worst, "", "the true winner's", 1.0, worst, count, 0.0, used)


def worst_ratio(sweep: Sweep, true: Mapping[Any, str | None], found: Mapping[Any, str | None]) -> float:
    """The largest ratio of a found winner's area to the true one's; infinite where a group has lost its winner."""
    ratios = [1.0]
    for group, best in true.items():
        if best is None:
            continue
        chosen = found.get(group)
        ratios.append(_area(sweep, chosen) / _area(sweep, best) if chosen else float("inf"))
    return max(ratios)


def _area(sweep: Sweep, trial: str) -> float:
    area = sweep[trial].candidate(trial).area
    assert area
    return area
