"""What worker counts came to: series of a sweep's trials by the kind of scaling, and of each count the medians."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dashboards.figures.scaling.rows import STRONG, WEAK, ScalingRow
from dashboards.figures.tables import BATCH_SIZE, GLOBAL_BATCH_SIZE, WORKERS, TrialRow, TrialTable
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import dollars_per_second
from sweeper.store import Store

_Setting = tuple[Any, ...]


@dataclass(frozen=True)
class Members:
    """The trials of one series: those of one kind of scaling that share `key`, by worker count, smallest first."""

    trials: TrialTable
    kind: str
    key: Mapping[str, Any]
    counts: Mapping[int, Sequence[TrialRow]]

    @cached_property
    def common(self) -> frozenset[_Setting]:
        """The settings that have a throughput at every worker count; of sweeps without images, a training time."""
        rows = [row for ones in self.counts.values() for row in ones]
        measure = throughput if any(throughput(row) is not None for row in rows) else training_seconds
        found = [
            {self.setting(row) for row in _clean(rows, measure) if measure(row) is not None}
            for rows in self.counts.values()
        ]
        known = [some for some in found if some]
        return frozenset(set.intersection(*known)) if known else frozenset()

    def compared(self, workers: int) -> list[TrialRow]:
        """The trials of a count that are compared with those of others: of the settings that all counts have."""
        rows = _clean(self.counts[workers], training_seconds)
        return [row for row in rows if not self.common or self.setting(row) in self.common]

    def setting(self, row: TrialRow) -> _Setting:
        """What a trial has in common with those of other counts: the batch that its kind fixes, and all else."""
        return (self._batch(row), row.learning_rate, *(repr(value) for value in row.others.values()))

    def _batch(self, row: TrialRow) -> Any:
        return fixed_batch(row, self.trials, self.kind)


def fixed_batch(row: TrialRow, trials: TrialTable, kind: str) -> Any:
    """The batch of a trial that scaling of this kind fixes: of each worker, or of all together.

    A command's may be a word, which is the same for both.
    """
    is_of_all = trials.batch_name == GLOBAL_BATCH_SIZE
    if not isinstance(row.batch_size, int | float) or is_of_all == (kind == STRONG):
        return row.batch_size
    return row.batch_size / row.workers if is_of_all else row.batch_size * row.workers


def members_of(trials: TrialTable, spec: Mapping[str, Any] | None = None) -> list[Members]:
    """The series of a sweep, weak scaling before strong; `spec` as it was submitted, None for an import.

    In a sweep of both kinds a trial counts for both where the other kind has its batch, for example with one worker,
    whose batch is that of all.
    """
    found: dict[tuple[str, tuple[tuple[str, Any], ...]], dict[int, list[TrialRow]]] = {}
    for kind, group_key, row in _with_kinds(trials, _listed_batches(spec or {})):
        key = tuple((name, value) for name, value in group_key.items() if name != WORKERS)
        found.setdefault((kind, key), {}).setdefault(row.workers, []).append(row)
    in_order = sorted(found, key=lambda one: one[0] == STRONG)
    return [Members(trials, kind, dict(key), dict(sorted(found[kind, key].items()))) for kind, key in in_order]


def _listed_batches(spec: Mapping[str, Any]) -> dict[str, set[Any]]:
    """The batches of each kind in a spec's listed settings: a trial that two of them are is run once, as weak."""
    points = spec.get("space", {}).get("points")
    listed = [one for one in points if isinstance(one, Mapping)] if isinstance(points, list) else []
    names = {WEAK: BATCH_SIZE, STRONG: GLOBAL_BATCH_SIZE}
    return {kind: {one[name] for one in listed if one.get(name) is not None} for kind, name in names.items()}


def _with_kinds(trials: TrialTable, listed: Mapping[str, set[Any]]) -> list[tuple[str, Mapping[str, Any], TrialRow]]:
    of = [(STRONG if row.global_batch else WEAK, group.key, row) for group in trials.groups for row in group.rows]
    batches = {
        kind: listed[kind] | {fixed_batch(row, trials, kind) for own, _, row in of if own == kind}
        for kind in (WEAK, STRONG)
    }
    others = {WEAK: STRONG, STRONG: WEAK}
    return of + [
        (others[kind], key, row)
        for kind, key, row in of
        if all(batches.values()) and fixed_batch(row, trials, others[kind]) in batches[others[kind]]
    ]


def measured_row(
    store: Store, members: Members, workers: int, base: tuple[int, float] | None, accuracy: float | None
) -> ScalingRow:
    """A worker count of a series; `base` are the smallest count and its throughput, None where this is the first."""
    compared, rate = members.compared(workers), members.trials.rate
    rates = [one for row in compared if (one := throughput(row)) is not None]
    times = [one for row in compared if (one := training_seconds(row)) is not None]
    value, seconds = (statistics.median(found) if found else None for found in (rates, times))
    speedup, efficiency = against(base or (workers, value), workers, value)
    best = _best(members.counts[workers])
    per_second = None if rate is None else dollars_per_second({WORKERS: workers}, rate)
    return ScalingRow(
        workers,
        value,
        len(rates or times),
        speedup,
        efficiency,
        best,
        None if best is None else seconds_to_threshold(store, best, members.trials.threshold),
        bool(times) and any(row.oversubscribed for row in compared),
        seconds,
        None if seconds is None or per_second is None else seconds * per_second,
        None if best is None or accuracy is None else seconds_to_accuracy(store, best, accuracy),
    )


def against(
    base: tuple[int, float | None], workers: int, throughput: float | None
) -> tuple[float | None, float | None]:
    """Speed-up and efficiency of a throughput against that of the base count."""
    count, slow = base
    if not slow or throughput is None:
        return None, None
    return throughput / slow, throughput / slow * count / workers


def throughput(row: TrialRow) -> float | None:
    """Images a second of training of a complete trial; None where it does not say, or took no time."""
    seconds = training_seconds(row)
    return row.images / seconds if row.images and seconds is not None else None


def training_seconds(row: TrialRow) -> float | None:
    """Seconds of training of a complete trial; None where it does not say, or took no time."""
    if row.state is not TrialState.COMPLETED or not row.seconds or not math.isfinite(row.seconds):
        return None
    return row.seconds


def seconds_to_threshold(store: Store, row: TrialRow, threshold: float | None) -> float | None:
    """Seconds of training until a trial's loss first came to the threshold; None where it did not, or there is none."""
    if threshold is None:
        return None
    found = next((point.seconds for point in store.attempts.points(row.trial) if point.loss <= threshold), None)
    return None if found is None or math.isnan(found) else found


def seconds_to_accuracy(store: Store, row: TrialRow, accuracy: float) -> float | None:
    """Seconds of training before a trial's first evaluation of at least this accuracy; None where there is none."""
    found = (one.seconds for one in store.attempts.evaluations(row.trial) if one.accuracy >= accuracy)
    return next((seconds for seconds in found if not math.isnan(seconds)), None)


def _best(rows: Sequence[TrialRow]) -> TrialRow | None:
    qualified = [row for row in rows if row.qualified and row.area is not None]
    return min(qualified, key=lambda row: (row.area or 0.0, row.position), default=None)


def _clean(rows: Sequence[TrialRow], measure: Callable[[TrialRow], float | None]) -> list[TrialRow]:
    """Those that shared nothing, or all where none of these has what is measured."""
    clean = [row for row in rows if not row.oversubscribed]
    return clean if any(measure(row) is not None for row in clean) else list(rows)
