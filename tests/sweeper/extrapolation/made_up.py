"""Runs whose curves and step times follow a law, so that what is predicted can be known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from sweeper.extrapolation import Run, Setting
from sweeper.plan.trial import TrialState

IMAGES, POINTS = 51_200, 50


def step_seconds(workers: int, share: int) -> float:
    """Computing with a fixed part, and an exchange by messages and bytes."""
    return 2e-4 + 3e-6 * share + 2e-5 * math.log2(workers) + 1e-5 * 2 * (workers - 1) / workers


def mean_loss(batch: int, rate: float) -> float:
    """Best where the rate is 1 / 400 of the batch."""
    return 1.0 + 0.1 * math.log2(400 * rate / batch) ** 2


def setting(batch: int, rate: float) -> Setting:
    return Setting((("batch_size", batch), ("learning_rate", rate)), batch, None, rate, IMAGES)


def run(
    of: Setting,
    workers: int,
    seed: int = 0,
    scale: float = 1.0,
    state: TrialState = TrialState.COMPLETED,
    timed: bool = True,
    seconds: Callable[[int, int], float] = step_seconds,
) -> Run:
    """A run as the laws have it, its losses times `scale`."""
    steps, batch = of.steps(workers), of.global_batch(workers)
    loss, points = scale * mean_loss(batch, of.learning_rate), min(POINTS, steps)
    pace = seconds(workers, of.share(workers))
    diverged = state is TrialState.DIVERGED
    return Run(
        setting=of,
        workers=workers,
        seed=seed,
        state=state,
        area_steps=None if diverged else loss * steps,
        area_images=None if diverged else loss * IMAGES,
        area_seconds=None if diverged else loss * steps * pace,
        minimum_loss=loss / 2,
        steps=steps,
        seconds=steps * pace,
        points=points,
        timed=timed,
    )


def grid(
    workers: Iterable[int],
    batches: Iterable[int] = (16, 32, 64, 128, 256),
    rates: Iterable[float] = (0.1, 0.2, 0.4),
) -> list[Run]:
    """All of them, once."""
    rates = list(rates)
    return [run(setting(batch, rate), count) for count in workers for batch in batches for rate in rates]
