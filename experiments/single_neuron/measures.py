"""How fast a curve falls and how noisy it is, from its mean losses over windows of 20 steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Losses = NDArray[np.float64]
STEPS_A_WINDOW = 20
AVERAGED_WINDOWS = 25  # 500 steps, over which a running mean goes
HIGH, LOW = 0.06, 0.03  # levels of the running mean
_LAST = 100  # windows, over which noise is measured: 2,000 steps


@dataclass(frozen=True)
class Measures:
    """A curve in numbers.

    `fast` and `late` are the steps until the mean loss of the last 500 steps is at most 0.06 and 0.03; None where it
    never is. `mean` is the mean loss over the whole curve: its area over steps, divided by the steps. `noise` is the
    standard deviation of the losses of 20 steps about their centred running mean over 500 steps, in the last 2,000
    steps; None for a shorter curve.
    """

    fast: int | None
    late: int | None
    mean: float
    noise: float | None


def measure(losses: Losses) -> Measures:
    """The measures of mean losses [windows] over 20 steps each."""
    return Measures(steps_to(losses, HIGH), steps_to(losses, LOW), float(losses.mean()), noise(losses))


def in_windows(losses: Losses) -> Losses:
    """Losses of single steps [steps] as means over 20 steps each [windows]; what is left at the end is cut off."""
    whole = len(losses) // STEPS_A_WINDOW * STEPS_A_WINDOW
    means: Losses = losses[:whole].reshape(-1, STEPS_A_WINDOW).mean(axis=1)
    return means


def running_mean(losses: Losses) -> Losses:
    """The mean over each 25 windows that follow each other [windows - 24]; empty where there are fewer."""
    if len(losses) < AVERAGED_WINDOWS:
        return np.empty(0)
    means: Losses = np.convolve(losses, np.full(AVERAGED_WINDOWS, 1 / AVERAGED_WINDOWS), mode="valid")
    return means


def steps_to(losses: Losses, level: float) -> int | None:
    """Steps until the running mean is at most `level`; None where it never is."""
    reached = np.flatnonzero(running_mean(losses) <= level)
    return int(reached[0] + AVERAGED_WINDOWS) * STEPS_A_WINDOW if len(reached) else None


def noise(losses: Losses) -> float | None:
    """See `Measures`."""
    if len(losses) < _LAST:
        return None
    last = losses[-_LAST:]
    half = AVERAGED_WINDOWS // 2
    return float((last[half:-half] - running_mean(last)).std())
