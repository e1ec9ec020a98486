"""The study's curves, read from its store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.single_neuron.measures import STEPS_A_WINDOW, Losses, Measures, in_windows, measure
from experiments.single_neuron.running import SEEDS, WAYS, Way
from sweeper.store import Store, TrialRecord


@dataclass(frozen=True)
class Curve:
    """The losses [points] of `workers` workers by a way to average, and the seconds [points] at which they came.

    `every` is the number of steps of a point; `shared` where the workers had to share cores.
    """

    workers: int
    seed: int
    losses: Losses
    seconds: Losses
    every: int
    shared: bool

    @property
    def windows(self) -> Losses:
        """The mean losses over 20 steps each."""
        each = STEPS_A_WINDOW // self.every
        return self.losses if each == 1 else in_windows(np.repeat(self.losses, self.every))

    @property
    def measures(self) -> Measures:
        """See `Measures`."""
        return measure(self.windows)

    def seconds_at(self, step: int) -> float:
        """Training time after so many steps."""
        return float(self.seconds[step // self.every - 1])


def mean_curve(curves: Sequence[Curve]) -> Losses:
    """The losses [windows] averaged over curves, as far as all go."""
    windows = [curve.windows for curve in curves]
    shortest = min(len(one) for one in windows)
    means: Losses = np.mean([one[:shortest] for one in windows], axis=0)
    return means


def of_way(store: Store, way: Way) -> list[Curve]:
    """The curves of a way to average, fewest workers first; none where it has not been run."""
    return sorted(_of_sweep(store, way.sweep), key=lambda curve: curve.workers)


def of_seeds(store: Store) -> dict[int, list[Curve]]:
    """The curves of one process by its batch, which stands for so many workers; by seed."""
    found: dict[int, list[Curve]] = {}
    for curve in sorted(_of_sweep(store, SEEDS), key=lambda curve: (curve.workers, curve.seed)):
        found.setdefault(curve.workers, []).append(curve)
    return found


def of_ways(store: Store) -> dict[Way, list[Curve]]:
    """The curves of all ways that have been run."""
    return {way: curves for way in WAYS if (curves := of_way(store, way))}


def _of_sweep(store: Store, name: str) -> Iterator[Curve]:
    for sweep in store.sweeps.all():
        if sweep.name == name:
            yield from (_curve(store, trial) for trial in store.trials.of(sweep.id) if trial.points)


def _curve(store: Store, trial: TrialRecord) -> Curve:
    points = store.attempts.points(trial.id)
    return Curve(
        workers=trial.workers * trial.config["batch_size"],
        seed=trial.config["seed"],
        losses=np.array([point.loss for point in points]),
        seconds=np.array([point.seconds for point in points]),
        every=points[0].step,
        shared=trial.oversubscribed,
    )
