"""Tables and figures of the study."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from experiments.intervals import with_interval
from experiments.single_neuron import curves
from experiments.single_neuron.curves import Curve, mean_curve
from experiments.single_neuron.measures import Measures, measure
from experiments.single_neuron.running import Way
from experiments.study import Study
from sweeper.ranking.confidence import interval

Seeds = Mapping[int, Sequence[Measures]]
EQUAL_STARTS, OWN_STARTS, GRADIENTS = "weights-equal-starts", "weights-own-starts", "gradients"


def show(study: Study) -> None:
    """Make all of them."""
    from experiments.single_neuron.drawing import draw_claim, draw_losses

    with study.reading() as store:
        processes, ways = curves.of_seeds(store), curves.of_ways(store)
    seeds = {workers: [curve.measures for curve in some] for workers, some in processes.items()}
    study.table("seeds", _SEEDS_HEADER, [_seeds_row(workers, processes[workers]) for workers in processes])
    study.table("one", _ONE_HEADER, [_against_one(workers, seeds) for workers in seeds if workers > 1])
    study.table("ways", _WAYS_HEADER, [_way_row(way, curve) for way, some in ways.items() for curve in some])
    by_name = {way.sweep: some for way, some in ways.items()}
    study.table("same", ["curves", "workers", "largest difference of a loss"], _same(processes, by_name))
    study.figure("claim", draw_claim(seeds))
    for name, words in ((GRADIENTS, "gradients averaged"), (OWN_STARTS, "weights averaged, own starts")):
        if name in by_name:
            study.figure(name, draw_losses(words, by_name[GRADIENTS], by_name[name]))


_SEEDS_HEADER = [
    "workers",
    "steps to 0.06",
    "images to 0.06",
    "steps to 0.03",
    "by the mean curve",
    "mean loss",
    "noise",
]


def _seeds_row(workers: int, curves_of: Sequence[Curve]) -> list[str]:
    seeds = [curve.measures for curve in curves_of]
    together = measure(mean_curve(curves_of)).late
    fast = [one.fast for one in seeds]
    images = [None if steps is None else workers * steps for steps in fast]
    late = [one.late for one in seeds]
    means, noises = [one.mean for one in seeds], [one.noise for one in seeds]
    steps = [_mean(fast, 0), _mean(images, 0), _mean(late, 0), "-" if together is None else f"{together:,}"]
    return [str(workers), *steps, _mean(means, 5), _mean(noises, 5)]


_ONE_HEADER = ["workers", "more steps to 0.06", "times the images to 0.06", "more mean loss", "noise, of one worker's"]


def _against_one(workers: int, seeds: Seeds) -> list[str]:
    pairs = list(zip(seeds[workers], seeds[1], strict=True))
    return [
        str(workers),
        _mean(_each(pairs, lambda one: one.fast, lambda a, b: a - b), 0, signed=True),
        _mean(_each(pairs, lambda one: one.fast, lambda a, b: workers * a / b), 2),
        _mean(_each(pairs, lambda one: one.mean, lambda a, b: a - b), 5, signed=True),
        _mean(_each(pairs, lambda one: one.noise, lambda a, b: a / b), 3) + f" (1/√N: {1 / math.sqrt(workers):.3f})",
    ]


def _each(
    pairs: Sequence[tuple[Measures, Measures]],
    of: Callable[[Measures], float | None],
    compared: Callable[[float, float], float],
) -> list[float | None]:
    """Each seed's value compared with that of one worker; None where one of the two is unknown."""
    values = [(of(several), of(one)) for several, one in pairs]
    return [None if a is None or b is None else compared(a, b) for a, b in values]


def _mean(values: Sequence[float | None], decimals: int, *, signed: bool = False) -> str:
    """The mean over seeds with its 95 % interval; "-" where a seed has no value."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "-"
    sign = "+" if signed else ""
    return with_interval(float(np.mean(known)), interval(known), lambda value: f"{value:{sign},.{decimals}f}")


_WAYS_HEADER = ["averaged", "workers", "steps to 0.06", "mean loss", "noise", "s to 0.06", "s for all steps"]


def _way_row(way: Way, curve: Curve) -> list[str]:
    found, mark = curve.measures, "*" if curve.shared else ""
    return [
        way.words,
        str(curve.workers),
        "-" if found.fast is None else f"{found.fast:,}",
        f"{found.mean:.5f}",
        "-" if found.noise is None else f"{found.noise:.5f}",
        "-" if found.fast is None else f"{curve.seconds_at(found.fast):.2f}{mark}",
        f"{curve.seconds[-1]:.1f}{mark}",
    ]


def _same(processes: Mapping[int, Sequence[Curve]], ways: Mapping[str, Sequence[Curve]]) -> list[list[str]]:
    """How far curves that ought to be the same are apart."""
    rows = []
    for curve in ways.get(GRADIENTS, ()):
        process = next((one for one in processes.get(curve.workers, ()) if one.seed == curve.seed), None)
        if process:
            apart = np.abs(curve.windows - process.windows).max()
            rows.append(["gradients of N workers, one process with a batch of N", str(curve.workers), f"{apart:.1e}"])
    gradients = {curve.workers: curve for curve in ways.get(GRADIENTS, ())}
    for curve in ways.get(EQUAL_STARTS, ()):
        apart = np.abs(curve.losses - gradients[curve.workers].losses).max()
        rows.append(["weights with equal starts, gradients; every step", str(curve.workers), f"{apart:.1e}"])
    return rows
