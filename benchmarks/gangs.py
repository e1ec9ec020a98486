"""Gangs under the scheduler, with a store: what a trial costs besides its training, and whether many leave anything.

What a trial costs is compared with Ray Tune, where that is installed: once at its leanest, once as it comes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks import ray_tune
from benchmarks.measure import Row, alone, arguments, compare, installed, report, spread, versions
from benchmarks.sweeping import WORKERS, overhead, swept

AT_ONCE = 2
_SHORT_IMAGES = 64  # one step, which is one loss point


def images_for(seconds: float) -> int:
    """Images on which a trial trains about so long."""
    tried = swept(4, 20_000)
    return max(640, int(20_000 * seconds / statistics.median(tried.trained[1:])))


def turn_rounds(executor: str, trials: int) -> Iterator[Row]:
    """Of a warm gang: the median, and the slowest but one in a hundred."""
    found = sorted(swept(trials, 3200, executor).turn_rounds())
    slow = found[max(0, int(len(found) * 0.99) - 1)]
    name = f"turn-round of a warm gang, {WORKERS} ranks, {executor} executor, {len(found)} trials"
    used = versions("torch", "mpi4py", *(["ray"] if executor == "ray" else []))
    yield Row(f"{name}: median", statistics.median(found), "ms", "", None, None, len(found), spread(found), used)
    yield Row(f"{name}: 99th percentile", slow, "ms", "", None, None, len(found), 0.0, used)


def overheads(trials: int, seconds: float, n: int) -> Iterator[Row]:
    """Of trials that train for a while."""
    images = images_for(seconds)

    def share() -> float:
        done = swept(trials, images)
        return 0.1 * overhead(done.watch.ends) * trials / sum(done.trained)

    name = f"{trials} trials of about {seconds:g} s, {WORKERS} ranks: all but training"
    yield alone(name, "% of training", share, n, versions("torch", "mpi4py"))


def short_trials(trials: int, n: int, *, rivals: bool) -> Iterator[Row]:
    """Of trials that hardly train, `AT_ONCE` side by side, beside Ray Tune's; see `benchmarks.sweeping.overhead`.

    Ours have two ranks each, more than the cores of a small machine; Ray Tune's are single processes.
    """
    name = f"cost of each of {trials} short trials, {WORKERS} ranks, {AT_ONCE} at once"

    def ours() -> float:
        return overhead(swept(trials + AT_ONCE, _SHORT_IMAGES, at_once=AT_ONCE).watch.ends, AT_ONCE)

    if not (rivals and installed("Ray Tune", *ray_tune.NEEDS)):
        yield alone(name, "ms", ours, n, versions("torch", "mpi4py"))
        return
    used = versions("torch", "mpi4py", "ray")
    # As it comes it takes minutes, and is far from the others: once is enough.
    for how, lean, times in (("reused actors, no loggers", True, n), ("as it comes", False, 1)):

        def theirs(lean: bool = lean) -> float:
            return ray_tune.milliseconds(trials, AT_ONCE, lean=lean)

        yield compare(name, "ms", ours, f"Ray Tune, {how}", theirs, times, used)


def leaks(trials: int, early: int) -> Iterator[Row]:
    """Whether many short trials leave memory, open files or processes."""
    first, last = swept(trials, images_for(0.05), at=(early, trials)).watch.held
    for what, unit, before, after in zip(
        ("memory", "open files", "processes"), ("bytes", "files", "processes"), first, last, strict=True
    ):
        name = f"{what} after {trials} trials of about 50 ms"
        yield compare(name, unit, lambda v=after: float(v), f"after {early}", lambda v=before: float(v), 1, {})  # type: ignore[misc]


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    report(rows(given.quick), given.json)


def rows(quick: bool) -> Iterator[Row]:
    """All that is measured."""
    if quick:
        yield from turn_rounds("local", 12)
        yield from short_trials(60, 1, rivals=False)
    else:
        for executor in ("local", "ray"):
            yield from turn_rounds(executor, 120)
        yield from short_trials(100, 5, rivals=True)
        yield from overheads(100, 1.0, 1)
        yield from leaks(2000, 200)


if __name__ == "__main__":
    main()
