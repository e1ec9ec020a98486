"""The rankings of real sweeps: the paper's table 5.1, and a sweep recorded on one GPU."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, best_per_group
from sweeper.ranking.curve import LossPoint, summarize

THRESHOLD = 1.8  # of the paper
TABLE_5_1 = {1: (128, 0.5), 2: (128, 0.5), 4: (128, 0.4), 8: (64, 0.6)}
FindData = Callable[[str], Path]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def published(recorded_data: FindData) -> list[Candidate]:
    """The paper's trials; of the minimum losses only the side of the threshold is known, which is what counts."""
    return [
        Candidate(
            trial=f"{i:03d}",
            parameters={
                "workers": int(row["workers"]),
                "batch_size": int(row["batch_size"]),
                "learning_rate": float(row["learning_rate"]),
            },
            state=TrialState.COMPLETED,
            finite=bool(row["area"]),
            area=float(row["area"]) if row["area"] else None,
            minimum_loss=THRESHOLD if row["min_loss_rank"] else math.nextafter(THRESHOLD, 2),
        )
        for i, row in enumerate(rows(recorded_data("shm-learn-dist/areas.csv")))
    ]


def winners(candidates: list[Candidate], threshold: float | None) -> dict[int, tuple[int, float]]:
    found = {}
    for group in best_per_group(candidates, threshold):
        assert group.winner is not None
        parameters = group.winner.parameters
        found[group.key["workers"]] = parameters["batch_size"], parameters["learning_rate"]
    return found


def test_the_thresholded_area_gives_the_papers_table(published: list[Candidate]) -> None:
    assert len(published) == 185
    assert winners(published, THRESHOLD) == TABLE_5_1


def test_the_smallest_area_alone_does_not(published: list[Candidate]) -> None:
    """It takes what stops at a bad loss soonest, for every worker count but one."""
    assert winners(published, None) == {1: (128, 0.5), 2: (128, 0.5), 4: (256, 0.9), 8: (512, 0.5)}


@pytest.fixture(scope="module")
def recorded(recorded_data: FindData) -> list[Candidate]:
    """4 x 6 x 9 trials: the curve of the global batch, at the pace of that worker count and batch size."""
    curves: dict[tuple[int, float], list[tuple[int, float]]] = {}
    for row in rows(recorded_data("recorded-sweep/curves.csv")):
        point = int(row["images"]), float(row["loss"] or math.nan)
        curves.setdefault((int(row["global_batch"]), float(row["learning_rate"])), []).append(point)
    trials = []
    for pace in rows(recorded_data("recorded-sweep/step_seconds.csv")):
        workers, batch_size = int(pace["workers"]), int(pace["batch_size"])
        for rate in sorted({rate for _, rate in curves}):
            curve = curves[workers * batch_size, rate]
            trials.append(_candidate(workers, batch_size, rate, curve, float(pace["seconds_per_step"])))
    return trials


def _candidate(
    workers: int, batch_size: int, rate: float, curve: list[tuple[int, float]], step_seconds: float
) -> Candidate:
    points = []
    for images, loss in curve:
        step = images // (workers * batch_size)
        points.append(LossPoint(step, images, step * step_seconds, loss))
    summary = summarize(points)
    return Candidate(
        trial=f"{workers}-{batch_size}-{rate}",
        parameters={"workers": workers, "batch_size": batch_size, "learning_rate": rate},
        state=TrialState.COMPLETED,
        finite=summary.finite,
        area=summary.area_seconds,
        minimum_loss=summary.minimum_loss,
    )


def test_the_recorded_sweep_has_its_winners_and_runners_up(recorded: list[Candidate]) -> None:
    assert len(recorded) == 216
    best_two = {
        group.key["workers"]: [
            (c.parameters["batch_size"], c.parameters["learning_rate"], f"{c.area:.4f}") for c in group.ranking[:2]
        ]
        for group in best_per_group(recorded, 1.5)
    }
    assert best_two == {
        1: [(256, 0.4, "1.8995"), (256, 0.2, "1.9140")],
        2: [(256, 0.3, "1.1109"), (256, 0.2, "1.1132")],
        4: [(128, 0.3, "0.7660"), (128, 0.2, "0.7676")],
        8: [(64, 0.3, "0.5895"), (64, 0.2, "0.5908")],
    }


def test_another_threshold_has_other_winners(recorded: list[Candidate]) -> None:
    assert winners(recorded, 1.8) == {1: (256, 0.4), 2: (512, 0.3), 4: (256, 0.3), 8: (128, 0.3)}
