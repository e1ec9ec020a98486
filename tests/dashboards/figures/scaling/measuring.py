"""Sweeps of the engine's own training whose steps take what a law says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.config import TrainingConfig
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, Store, SweepRecord, TrialRecord

IMAGES, POINTS = 51_200, 8


def step_seconds(workers: int, share: float) -> float:
    """A part that grows with the images of a worker, and one for each message of an exchange."""
    return 1e-3 + 1e-4 * share + 2e-4 * math.log2(workers)


def trained(
    store: Store,
    space: dict[str, Any],
    *,
    name: str = "sweep",
    accuracies: Callable[[TrialRecord], tuple[float, ...]] = lambda _: (),
    pace: float = 1.0,
    shared: Callable[[TrialRecord], bool] = lambda _: False,
    fails: Callable[[TrialRecord], bool] = lambda _: False,
    **fields: Any,
) -> SweepRecord:
    """A sweep of alexnet-cifar whose losses fall from 2.4 to 1.0 in eight points, evaluated at each of the first.

    A trial that `fails` does so after its last point.
    """
    written = {"name": name, "trial": {"images": IMAGES, **fields.pop("trial", {})}, "space": space, **fields}
    spec = parse_spec({"objective": {"threshold": 1.8}, **written})
    sweep = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep):
        config = trial.planned.config
        assert isinstance(config, TrainingConfig)
        batch, images = config.global_batch(trial.workers), trial.whole_images or 0
        steps = images // batch
        seconds = pace * steps * step_seconds(trial.workers, batch / trial.workers)
        parts = [n / POINTS for n in range(1, POINTS + 1)]
        points = [LossPoint(round(steps * f), round(images * f), seconds * f, 2.6 - 1.6 * f) for f in parts]
        attempt = store.attempts.claim(trial.id)
        assert attempt
        store.attempts.add_points(trial.id, attempt, points)
        for point, accuracy in zip(points, accuracies(trial), strict=False):
            found = EvaluationRecord(point.step, point.images, point.seconds, point.loss, accuracy)
            store.attempts.add_evaluation(trial.id, attempt, found)
        state = TrialState.FAILED if fails(trial) else TrialState.COMPLETED
        store.attempts.finish(trial.id, attempt, state, summarize(points), oversubscribed=shared(trial))
    return store.sweeps.find(sweep)


def seconds_of(workers: int, batch: int) -> float:
    """Seconds of a run with so many images of all workers in a step."""
    return IMAGES // batch * step_seconds(workers, batch / workers)
