"""Sweeps for the tests, put into a store through its own interface."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import CurveSummary, LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Store, SweepRecord, TrialRecord

# What becomes of a trial: its points, or a state that it ends in without any; None leaves it pending.
Result = Sequence[LossPoint] | TrialState | None


def curve(area: float, minimum: float, points: int = 5) -> list[LossPoint]:
    """A curve of this area over seconds that falls in a straight line from `minimum + 1` to `minimum`."""
    seconds = area / (minimum + 0.5)
    return [
        LossPoint(step=i + 1, images=64 * (i + 1), seconds=seconds * f, loss=minimum + 1 - f)
        for i, f in enumerate(i / (points - 1) for i in range(points))
    ]


def diverging() -> list[LossPoint]:
    """A curve that ends in losses that are no numbers."""
    return [LossPoint(1, 64, 1.0, 2.3), LossPoint(2, 128, 2.0, math.inf), LossPoint(3, 192, 3.0, math.nan)]


def evaluated(store: Store, trial_id: str, *accuracies: float) -> None:
    """Evaluations of a trial's first attempt, after each second step of 64 images and half a second."""
    for step, accuracy in zip(range(2, 2 + 2 * len(accuracies), 2), accuracies, strict=True):
        store.attempts.add_evaluation(trial_id, 1, EvaluationRecord(step, 64 * step, step / 4, 1.0, accuracy))


def with_gang(store: Store, trial: TrialRecord, attempt: int = 1) -> None:
    """A gang for each worker count, which has served an attempt."""
    name = f"gang-{trial.sweep_id}-{trial.workers}"
    gang = GangRecord(name, trial.sweep_id, trial.workers, ["host"], [1], {}, datetime(2026, 1, 1, tzinfo=UTC))
    store.attempts.assign_gang(trial.id, attempt, gang, "gang.log")
    store.attempts.start(trial.id, attempt, 2.0, 0.5, {})


def submit(store: Store, space: Mapping[str, Any], *, name: str = "sweep", repeats: int = 1, **objective: Any) -> str:
    """A sweep over `space` whose trials are all pending; returns its id."""
    written = {
        "name": name,
        "trial": {"model": "neuron", "data": "step-function", "images": 1_000_000},
        "space": dict(space),
        "objective": {"threshold": 1.8, **objective},
        "repeats": repeats,
    }
    spec = parse_spec(written)
    return store.sweeps.add(spec, plan(spec, first_points))


def end(store: Store, trial: TrialRecord, result: Result) -> None:
    """Run a trial to its end, or only start it where the result is the state RUNNING."""
    if result is None:
        return
    attempt = store.attempts.claim(trial.id)
    assert attempt is not None
    if result is TrialState.RUNNING:
        return
    if isinstance(result, TrialState):
        store.attempts.finish(trial.id, attempt, result, summarize([]))
        return
    store.attempts.add_points(trial.id, attempt, result)
    summary = summarize(result)
    state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
    store.attempts.finish(trial.id, attempt, state, summary)


def run(
    store: Store,
    space: Mapping[str, Any],
    result: Callable[[TrialRecord], Result],
    *,
    name: str = "sweep",
    repeats: int = 1,
    **objective: Any,
) -> SweepRecord:
    """A sweep over `space` in which each trial ends as `result` says."""
    sweep_id = submit(store, space, name=name, repeats=repeats, **objective)
    for trial in store.trials.of(sweep_id):
        end(store, trial, result(trial))
    return store.sweeps.find(sweep_id)


def add_published(store: Store, path: Path) -> SweepRecord:
    """The paper's sweep from the areas of its heatmaps, with threshold 1.8 (path: shm-learn-dist/areas.csv).

    The areas are the published ones. The minimum losses are not published, only their order and which of them came
    to the threshold: they are numbers in that order, on that side of 1.8. Settings that the heatmaps leave out
    diverged, says the data's README.
    """
    with path.open(encoding="utf-8") as file:
        published = {(r["workers"], r["batch_size"], r["learning_rate"]): r for r in csv.DictReader(file)}
    space = {
        "batch_size": [16, 32, 64, 128, 256, 512],
        "learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "workers": [1, 2, 4, 8],
    }
    sweep_id = submit(store, space, name="cifar10-alexnet", threshold=1.8)
    for trial in store.trials.of(sweep_id):
        at = trial.parameters
        row = published.get((str(at["workers"]), str(at["batch_size"]), str(at["learning_rate"])))
        if row is None or not row["area"]:
            end(store, trial, diverging())
            continue
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        rank = row["min_loss_rank"]
        minimum = 1.2 + int(rank) * 0.02 if rank else 1.9
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, published_summary(float(row["area"]), minimum))
    return store.sweeps.find(sweep_id)


def published_summary(area_seconds: float, minimum_loss: float) -> CurveSummary:
    """What is known of a curve of which only the area is published."""
    return replace(summarize([]), area_seconds=area_seconds, minimum_loss=minimum_loss)
