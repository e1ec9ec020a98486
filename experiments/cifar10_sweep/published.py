"""The published areas of the paper's sweep (its figures 5.1 to 5.8), where this machine has them."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dashboards.figures.tables import Outcome
from engine.data.folders import VARIABLE
from experiments.cifar10_sweep.recorded import Setting

WINNERS: Mapping[int, Setting] = {1: (128, 0.5), 2: (128, 0.5), 4: (128, 0.4), 8: (64, 0.6)}  # table 5.1
SETTINGS: tuple[Setting, ...] = tuple(
    (batch, rate / 10) for batch in (16, 32, 64, 128, 256, 512) for rate in range(1, 10)
)
PLACE = Path("shm-learn-dist", "areas.csv")


@dataclass(frozen=True)
class PublishedGrid:
    """What the paper shows of a worker count: areas in loss x seconds on K80 GPUs, and which cells it ranked."""

    areas: Mapping[Setting, float]
    qualified: frozenset[Setting]

    def outcome(self, setting: Setting) -> Outcome:
        """What came of a setting: a cell that is empty in the heatmap, or left out of it, diverged."""
        if setting not in self.areas:
            return Outcome.DIVERGED
        return Outcome.QUALIFIED if setting in self.qualified else Outcome.ABOVE_THRESHOLD


def published_grids() -> dict[int, PublishedGrid]:
    """The published grids by worker count; none where `$SWEEPER_DATA/shm-learn-dist/areas.csv` is not there."""
    folder = os.environ.get(VARIABLE)
    if not folder or not Path(folder, PLACE).is_file():
        return {}
    areas: dict[int, dict[Setting, float]] = {}
    ranked: dict[int, set[Setting]] = {}
    with Path(folder, PLACE).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            workers, setting = int(row["workers"]), (int(row["batch_size"]), float(row["learning_rate"]))
            if row["area"]:
                areas.setdefault(workers, {})[setting] = float(row["area"])
            if row["min_loss_rank"]:
                ranked.setdefault(workers, set()).add(setting)
    return {count: PublishedGrid(found, frozenset(ranked.get(count, ()))) for count, found in areas.items()}
