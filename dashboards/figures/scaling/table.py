"""The table of scaling: throughput, speed-up and efficiency by worker count, and how soon the threshold is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import GLOBAL_BATCH_SIZE, WORKERS, TrialRow, TrialTable
from dashboards.figures.tables.csv_text import csv_text
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.store import Store

Series = tuple[tuple[str, Any], ...]
_Setting = tuple[Any, ...]


@dataclass(frozen=True)
class ScalingRow:
    """A worker count of a series: what its trials did in a second, against the series' smallest count.

    `throughput` is in images a second, the median over `trials` complete ones; None where no trial says its images.
    `speedup` is its ratio to the smallest count's, `efficiency` that over the ratio of workers. `to_threshold` is in
    seconds of training until the best trial's loss first came to the threshold; None where it never did. With
    `oversubscribed` the throughput is of trials whose ranks shared cores or GPUs: the count has no others.
    """

    workers: int
    throughput: float | None
    trials: int
    speedup: float | None
    efficiency: float | None
    best: TrialRow | None
    to_threshold: float | None
    oversubscribed: bool = False


@dataclass(frozen=True)
class ScalingSeries:
    """The worker counts of the trials that share `key`, which the groups have beside workers; smallest count first."""

    key: Mapping[str, Any]
    rows: tuple[ScalingRow, ...]


@dataclass(frozen=True)
class ScalingTable:
    """Scaling of a sweep: `kind` is "strong" where it fixes the batch of all workers together, else "weak".

    Where all counts of a series have settings in common, batch size, rate and what else varies, throughputs are of
    these (`matched`), so that like is compared with like.
    """

    trials: TrialTable
    kind: str
    matched: bool
    series: tuple[ScalingSeries, ...]


def scaling_table(store: Store, trials: TrialTable) -> ScalingTable:
    """Throughputs of all complete trials whose ranks shared no cores, and times to threshold; a curve per count.

    Of a worker count that has oversubscribed trials only these count, and it is marked.

    Raises:
        FigureError: no trial has a throughput.
        StoreError: the store cannot be read.
    """
    members: dict[Series, dict[int, list[TrialRow]]] = {}
    for group in trials.groups:
        key = tuple((name, value) for name, value in group.key.items() if name != WORKERS)
        for row in group.rows:
            members.setdefault(key, {}).setdefault(row.workers, []).append(row)
    matched, series = True, []
    for key, counts in members.items():
        common = _common(counts)
        matched &= bool(common)
        series.append(_series(store, trials, dict(key), counts, common))
    if not any(row.throughput for one in series for row in one.rows):
        raise FigureError(
            f"sweep {trials.name!r}: none of its complete trials says how many images it saw in how long",
            "wait until a trial is complete; commands report images=…",
        )
    kind = "strong" if trials.batch_name == GLOBAL_BATCH_SIZE else "weak"
    return ScalingTable(trials, kind, matched, tuple(series))


def _series(
    store: Store,
    trials: TrialTable,
    key: Mapping[str, Any],
    counts: Mapping[int, Sequence[TrialRow]],
    common: set[_Setting],
) -> ScalingSeries:
    rows: list[ScalingRow] = []
    first: tuple[int, float] | None = None
    for workers in sorted(counts):
        compared = _comparable(counts[workers], common)
        rates = [rate for row in compared if (rate := throughput(row)) is not None]
        shared = bool(rates) and any(row.oversubscribed for row in compared)
        value = statistics.median(rates) if rates else None
        if value is not None and first is None:
            first = (workers, value)
        speedup = value / first[1] if value is not None and first is not None else None
        efficiency = speedup * first[0] / workers if speedup is not None and first is not None else None
        best = _best(counts[workers])
        reached = None if best is None else seconds_to_threshold(store, best, trials.threshold)
        rows.append(ScalingRow(workers, value, len(rates), speedup, efficiency, best, reached, shared))
    return ScalingSeries(key, tuple(rows))


def throughput(row: TrialRow) -> float | None:
    """Images a second of training of a complete trial; None where it does not say, or took no time."""
    if row.state is not TrialState.COMPLETED or not row.images or not row.seconds or not math.isfinite(row.seconds):
        return None
    return row.images / row.seconds


def seconds_to_threshold(store: Store, row: TrialRow, threshold: float | None) -> float | None:
    """Seconds of training until a trial's loss first came to the threshold; None where it did not, or there is none."""
    if threshold is None:
        return None
    return next((point.seconds for point in store.attempts.points(row.trial) if point.loss <= threshold), None)


def _best(rows: Sequence[TrialRow]) -> TrialRow | None:
    qualified = [row for row in rows if row.qualified and row.area is not None]
    return min(qualified, key=lambda row: (row.area or 0.0, row.position), default=None)


def _common(counts: Mapping[int, Sequence[TrialRow]]) -> set[_Setting]:
    """The settings that have a throughput at every worker count."""
    settings = [{_setting(row) for row in _clean(rows) if throughput(row) is not None} for rows in counts.values()]
    known = [some for some in settings if some]
    return set.intersection(*known) if known else set()


def _comparable(rows: Sequence[TrialRow], common: set[_Setting]) -> list[TrialRow]:
    return [row for row in _clean(rows) if not common or _setting(row) in common]


def _clean(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Those that shared nothing, or all where none of these has a throughput."""
    clean = [row for row in rows if not row.oversubscribed]
    return clean if any(throughput(row) is not None for row in clean) else list(rows)


def oversubscribed_words(table: ScalingTable) -> str:
    """The worker counts whose throughput is of oversubscribed trials, in a sentence; empty where none is."""
    counts = sorted({row.workers for one in table.series for row in one.rows if row.oversubscribed})
    return f"Oversubscribed: {', '.join(map(str, counts))} workers, whose ranks shared cores or GPUs." if counts else ""


def _setting(row: TrialRow) -> _Setting:
    return (row.batch_size, row.learning_rate, *(repr(value) for value in row.others.values()))


def scaling_csv(table: ScalingTable) -> str:
    """A line for each worker count of each series."""
    names = list(dict.fromkeys(name for series in table.series for name in series.key))
    lines = (
        [
            *map(series.key.get, names),
            row.workers,
            row.throughput,
            row.trials,
            row.speedup,
            row.efficiency,
            row.best.trial if row.best else None,
            row.to_threshold,
        ]
        for series in table.series
        for row in series.rows
    )
    measured = ["images_per_second", "trials", "speedup", "efficiency", "best_trial", "seconds_to_threshold"]
    return csv_text([*names, "workers", *measured], lines)
