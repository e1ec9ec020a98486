"""How long a sweep will still take: from the attempts that ended last, so that what pruning saves is in it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sweeper.plan.trial import TrialState
from sweeper.store import Store
from sweeper.store.progress import AttemptTime, RunningTrial

LATEST = 200  # attempts that are looked at: what is stopped early changes as a sweep goes on
_SIGMAS = 1.2816  # of a normal distribution, four fifths lie within so many on either side
_UNKNOWN = 0.5  # relative deviation of a time of which only one has been seen
_LEAST = 0.03  # and of times that have all been equal


@dataclass(frozen=True)
class Remaining:
    """Seconds until the last trial ends; in four of five cases they lie between `low` and `high`."""

    seconds: float
    low: float
    high: float


def remaining(store: Store, sweep_id: str, to_come: int = 0) -> Remaining | None:
    """The time that a sweep still takes, if it goes on as it does now; None where nothing runs or none has ended yet.

    `to_come` counts the trials that a search is still to add. Raises StoreError.
    """
    waiting = {
        workers: count
        for (workers, state), count in store.progress.counts(sweep_id).items()
        if state is TrialState.PENDING
    }
    running = store.progress.running(sweep_id)
    given_up, begun = store.progress.given_up(sweep_id)
    share = begun / (begun + given_up) if begun else 1.0
    return estimate(waiting, running, store.progress.last_attempts(sweep_id, LATEST), to_come, share)


def estimate(
    waiting: Mapping[int, int],
    running: Sequence[RunningTrial],
    ended: Iterable[AttemptTime],
    to_come: int = 0,
    share: float = 1.0,
) -> Remaining | None:
    """The same from the waiting trials by workers, those that run, and times of attempts that ended.

    A trial takes as long as those of its worker count took that ended last, completed or stopped: their mean, and for
    one that runs what they took beyond its present age, or half of that age where it is older than all. Of those that
    wait only a `share` will run, as of those before. Seats are used as they are now: the workers that run together.
    """
    times: dict[int, list[float]] = {}
    for one in ended:
        times.setdefault(one.workers, []).append(one.seconds)
    if not running or not times:
        return None
    seats = sum(trial.workers for trial in running)
    waiting = dict(waiting)
    if to_come:
        most_common = max(times, key=lambda workers: len(times[workers]))
        waiting[most_common] = waiting.get(most_common, 0) + to_come
    work, variance = 0.0, 0.0
    for workers, count in waiting.items():
        mean, deviation, seen = _expected(times, workers)
        work += workers * share * count * mean
        # Each trial by itself, and all together by how well their mean is known.
        variance += workers**2 * deviation**2 * share * (count + count**2 / seen)
    left = [_left(times, trial) for trial in running]
    work += sum(trial.workers * seconds for trial, seconds in zip(running, left, strict=True))
    variance += sum((trial.workers * _doubt(times, trial)) ** 2 for trial in running)
    # Seats that some trial still needs for long are of no use to others in the end.
    longest = max(left)
    seconds = max(work / seats, longest)
    spread = _SIGMAS * math.sqrt(variance) / seats
    return Remaining(seconds, max(0.0, seconds - spread), seconds + spread)


def _expected(times: Mapping[int, Sequence[float]], workers: int) -> tuple[float, float, int]:
    """Mean and deviation of a trial's seconds, and of how many; of the nearest worker count where none has ended."""
    seen = times.get(workers)
    if seen is None:
        nearest = min(times, key=lambda other: abs(math.log(other / workers)))
        mean = statistics.fmean(times[nearest])
        return mean, _UNKNOWN * mean, 1
    mean = statistics.fmean(seen)
    return mean, max(statistics.stdev(seen), _LEAST * mean) if len(seen) > 1 else _UNKNOWN * mean, len(seen)


def _left(times: Mapping[int, Sequence[float]], trial: RunningTrial) -> float:
    """The mean of what those took beyond this one's age that took longer; half its age where it is older than all."""
    longer = [seconds - trial.seconds for seconds in times.get(trial.workers, ()) if seconds > trial.seconds]
    if longer:
        return statistics.fmean(longer)
    return max(_expected(times, trial.workers)[0] - trial.seconds, _UNKNOWN * trial.seconds)


def _doubt(times: Mapping[int, Sequence[float]], trial: RunningTrial) -> float:
    """The deviation of what a running trial has left: as wide as that itself where nothing like it has been seen."""
    deviation = _expected(times, trial.workers)[1]
    is_known = any(seconds > trial.seconds for seconds in times.get(trial.workers, ()))
    return deviation if is_known else max(deviation, _left(times, trial))
