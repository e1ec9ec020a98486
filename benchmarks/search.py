"""Search and pruning on recorded sweeps: what they spend of the grid's training, and whether its winners stay."""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.forecasting import forecast_rows
from benchmarks.machine_rows import machine_rows
from benchmarks.measure import Row, add_arguments, alone, report, spread, versions
from benchmarks.recorded import RecordedTrial, Replayed, Sweep, grid_winners, read_recorded, replay
from benchmarks.rivals import rival_rows, rivals
from benchmarks.virtual_machine import machine_named
from sweeper.guides import AreaGuide, Guide
from sweeper.guides.forecast_guide import ForecastGuide
from sweeper.guides.forecast_pruner import Length
from sweeper.guides.shared_curves import SharedCurves
from sweeper.plan.equivalence import Equivalence
from sweeper.ranking.curve import LossPoint

GROUP_BY = ("workers",)


def prune_area(sweep: Sweep, threshold: float | None, floor: float = 0.0) -> Guide:
    """`prune: area`, as the scheduler has it."""
    return AreaGuide(parameters_of(sweep), threshold, "seconds", GROUP_BY, floor)


def prune_forecast(sweep: Sweep, threshold: float | None, risk: float = 0.01) -> Guide:
    """`prune: forecast`, as the scheduler has it where gradients are averaged."""
    return ForecastGuide(
        parameters_of(sweep),
        threshold,
        "seconds",
        GROUP_BY,
        risk=risk,
        curve_of=lambda trial: sweep[trial].points,
        shared=True,
        lengths={trial: Length(one.points[-1].step, one.points[-1].images) for trial, one in sweep.items()},
    )


def share(sweep: Sweep, threshold: float | None, make: Callable[..., Guide]) -> Guide:
    """`reuse: equivalent` with another guide's pruning."""
    equivalences = {trial: _equivalence(one) for trial, one in sweep.items()}
    return SharedCurves(make(sweep, threshold), "seconds", equivalences, lambda trial: sweep[trial].points)


def share_and_forecast(sweep: Sweep, threshold: float | None) -> Guide:
    """Both."""
    return share(sweep, threshold, prune_forecast)


def _equivalence(one: RecordedTrial) -> Equivalence:
    workers, batch, rate = (one.parameters[name] for name in ("workers", "batch_size", "learning_rate"))
    return Equivalence((workers * batch, rate), (workers, batch), workers)


def parameters_of(sweep: Sweep) -> Mapping[str, Mapping[str, Any]]:
    """Of each trial."""
    return {trial: one.parameters for trial, one in sweep.items()}


def orders(
    sweep: Sweep, make: Callable[[Sweep], Guide], threshold: float | None, together: int, count: int
) -> list[Replayed]:
    """As many replays, each in a random order of its own; over all cores."""
    run = partial(_replay, sweep, make, threshold, together)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(run, range(count), chunksize=max(1, count // 20)))


def _replay(
    sweep: Sweep, make: Callable[[Sweep], Guide], threshold: float | None, together: int, seed: int
) -> Replayed:
    return replay(sweep, make(sweep), threshold, together, seed, GROUP_BY)


def rows_of(
    name: str, sweep: Sweep, make: Callable[[Sweep], Guide], threshold: float | None, together: int, count: int
) -> Iterator[Row]:
    """What the replays spent, and in how many orders every group kept its winner."""
    found = orders(sweep, make, threshold, together, count)
    true, used = grid_winners(sweep, threshold, GROUP_BY), versions("numpy")
    whole = sum(one.seconds for one in sweep.values())
    up_to_divergence = sum(one.run_seconds for one in sweep.values())
    for grid, seconds in (("grid", whole), ("grid, each up to its divergence", up_to_divergence)):
        shares = [one.spent / seconds for one in found]
        share = statistics.mean(shares)
        yield Row(f"{name}: share of the seconds", share, "", grid, 1.0, share, count, spread(shares), used)
    kept = sum(one.winners == true for one in found)
    yield Row(f"{name}: orders with all winners", kept, "", "all", count, kept / count, count, 0.0, used)


def decision_time(trials: int, points: int) -> Iterator[Row]:
    """Milliseconds that a loss point's decision, and the choice of the next trial, take with so many trials known."""
    sweep = synthetic(trials)
    for name, make in (("prune: area", prune_area), ("prune: forecast", prune_forecast)):
        yield from _times(name, sweep, make(sweep, 1.5), trials, points)


def _times(name: str, sweep: Sweep, guide: Guide, trials: int, points: int) -> Iterator[Row]:
    for trial, one in list(sweep.items())[: trials - 500]:
        guide.begin(trial, one.points[-1].step, one.points[-1].images)
        guide.learn([one.candidate(trial)])
    waiting = dict(list(parameters_of(sweep).items())[trials - 500 :])
    trial = next(iter(waiting))

    def point() -> float:
        guide.begin(trial, points, None)
        begun = time.perf_counter()
        for number in range(1, points + 1):
            guide.point(trial, LossPoint(number, None, number / 1e6, 1.0))
        return 1000 * (time.perf_counter() - begun) / points

    def choice() -> float:
        begun = time.perf_counter()
        guide.ordered(waiting)
        return 1000 * (time.perf_counter() - begun)

    yield alone(f"{name}: a loss point's decision, {trials} trials known", "ms", point, 5, versions("numpy"))
    yield alone(f"{name}: the choice of the next of 500, {trials} trials known", "ms", choice, 5, versions("numpy"))


def synthetic(trials: int) -> dict[str, RecordedTrial]:
    """Made-up curves over batch sizes and rates: higher rates fall faster, until they do not fall."""
    batches, workers = (16, 32, 64, 128, 256), (1, 2, 4, 8)
    each = math.ceil(trials / (len(batches) * len(workers)))
    sweep = {}
    for count in workers:
        for batch in batches:
            for number in range(each):
                rate = 0.9 * (number + 1) / each
                parameters = {"workers": count, "batch_size": batch, "learning_rate": rate}
                sweep[f"{count}-{batch}-{number}"] = RecordedTrial(parameters, _falling(count, batch, rate))
    return dict(list(sweep.items())[:trials])


def _falling(workers: int, batch: int, rate: float, points: int = 20) -> Sequence[LossPoint]:
    pace = rate if rate * batch * workers < 400 else 0.0
    steps = 51_200 // (batch * workers)
    return [
        LossPoint(
            step=max(1, steps * n // points),
            images=51_200 * n // points,
            seconds=steps * n / points * (1e-4 + 1e-6 * batch),
            loss=2.3 * math.exp(-3 * pace * n / points),
        )
        for n in range(1, points + 1)
    ]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--recorded", type=Path, metavar="DIR", help="a recorded sweep; without it a made-up one")
    parser.add_argument("--orders", type=int, default=200, help="random orders (default: 200)")
    parser.add_argument("--threshold", type=float, default=1.5, help="qualifying minimum loss (default: 1.5)")
    parser.add_argument("--floor", type=float, default=0.7, help="for the rows with a floor (default: 0.7)")
    parser.add_argument("--together", type=int, default=4, help="trials at a time (default: 4)")
    parser.add_argument(
        "--machine", type=machine_named, help="have the scheduler replay on 2cores, 1gpu, 4gpus or the like, no more"
    )
    parser.add_argument("--workers", type=int, nargs="+", help="the worker counts to replay (default: all)")
    parser.add_argument("--cold", type=float, help="seconds until a gang is up (default: 4 with GPUs, else 0.5)")
    parser.add_argument("--set-up", type=float, help="seconds to set up a trial on a warm gang (default: 0.02 or 0.01)")
    given = parser.parse_args()
    report(rows(given), given.json)


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """Ways of pruning, rivals, forecasts, and how long a decision takes."""
    sweep: Sweep = read_recorded(given.recorded) if given.recorded else synthetic(120)
    if given.workers:
        sweep = {trial: one for trial, one in sweep.items() if one.parameters["workers"] in given.workers}
    if given.machine:
        yield from _on_machine(given, sweep)
        return
    count = min(given.orders, 4) if given.quick else given.orders
    for floor in (0.0, given.floor):
        name = f"prune: area, floor {floor:g}, {given.together} at once"
        make = partial(prune_area, threshold=given.threshold, floor=floor)
        yield from rows_of(name, sweep, make, given.threshold, given.together, count)
    for name, way in (("prune: forecast", prune_forecast), ("prune: forecast, reuse: equivalent", share_and_forecast)):
        make = partial(way, threshold=given.threshold)
        yield from rows_of(f"{name}, {given.together} at once", sweep, make, given.threshold, given.together, count)
    for name, rival in rivals().items():
        found = orders(sweep, rival, given.threshold, given.together, count)
        yield from rival_rows(f"{name}, {given.together} at once", sweep, found, given.threshold)
    yield from forecast_rows(sweep, given.threshold)
    yield from decision_time(1000 if given.quick else 10_000, 1000)


def _on_machine(given: argparse.Namespace, sweep: Sweep) -> Iterator[Row]:
    costs = {"cold_s": given.cold, "set_up_s": given.set_up}
    machine = replace(given.machine, **{name: cost for name, cost in costs.items() if cost is not None})
    count = min(given.orders, 2) if given.quick else given.orders
    yield from machine_rows(machine, sweep, given.threshold, count)


if __name__ == "__main__":
    main()
