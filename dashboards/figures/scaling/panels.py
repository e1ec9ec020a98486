"""The panels of scaling, on paper and on pages alike: what each shows, and the ideal that it is held against."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dashboards.figures.scaling.rows import STRONG, WEAK, ScalingRow, ScalingSeries
from dashboards.figures.scaling.table import ScalingTable, oversubscribed_words
from dashboards.figures.words.labels import threshold_name
from dashboards.figures.words.numbers import setting

Value: TypeAlias = Callable[[ScalingRow], float | None]
Line: TypeAlias = tuple[list[int], list[float | None]]  # worker counts and values, None where it is broken


@dataclass(frozen=True)
class Panel:
    """A value by worker count: `name` heads it, `axis` is its axis with the unit, `nothing` says that it has none.

    `perfect` gives the values of perfect scaling of a series; None where there is no such line. A `share` is perfect
    at one.
    """

    name: str
    axis: str
    value: Value
    nothing: str
    perfect: Callable[[ScalingSeries], Line] | None = None
    share: bool = False


def _throughput(row: ScalingRow) -> float | None:
    return row.throughput


def panels_of(table: ScalingTable) -> list[Panel]:
    """Throughput, efficiency, training time, and as far as asked for cost and times to threshold and accuracy."""
    found = [
        Panel(
            "Throughput",
            "throughput, images/s",
            _throughput,
            "no trial says its images",
            _perfect_of(_throughput, float),
        ),
        Panel(
            "Parallel efficiency",
            "parallel efficiency",
            lambda row: row.efficiency,
            "no trial says its images",
            share=True,
        ),
        _time_panel(table),
    ]
    if any(row.dollars is not None for row in table.rows):
        found.append(_cost_panel(table))
    if table.trials.threshold is not None:
        words = f"to {threshold_name(table.trials)}"
        found.append(Panel(f"Time {words}", f"s {words}", lambda row: row.to_threshold, "no trial came to it"))
    if table.accuracy is not None:
        words = f"to accuracy {setting(table.accuracy)}"
        found.append(Panel(f"Time {words}", f"s {words}", lambda row: row.to_accuracy, "no best trial came to it"))
    return found


def _time_panel(table: ScalingTable) -> Panel:
    return _of_trial_or_images(table, "time", "s", lambda row: row.seconds, lambda workers: 1 / workers)


def _cost_panel(table: ScalingTable) -> Panel:
    return _of_trial_or_images(table, "cost", "$", lambda row: row.dollars, lambda _: 1.0)


def _of_trial_or_images(
    table: ScalingTable, what: str, unit: str, value: Value, growth: Callable[[int], float]
) -> Panel:
    """A whole trial's time or cost, or with the line of perfect scaling that of so many images."""
    if table.images is None:
        return Panel(f"Training {what}", f"training {what}, {unit}", value, "no trial is complete")
    words = f"{what} of {table.images:,} images"
    perfect = _perfect_of(value, growth)
    return Panel(words.capitalize(), f"{words}, {unit}", value, "no trial says its images", perfect)


def measured_line(series: ScalingSeries, value: Value) -> Line:
    """The values of the counts that have run."""
    known = [(row.workers, found) for row in series.rows if (found := value(row)) is not None]
    return [at for at, _ in known], [found for _, found in known]


def predicted_points(series: ScalingSeries, value: Value) -> Line:
    """The values of the counts that have not run."""
    known = [(row.workers, found) for row in series.predicted if (found := value(row)) is not None]
    return [at for at, _ in known], [found for _, found in known]


def predicted_line(series: ScalingSeries, value: Value) -> Line:
    """A line through the predicted values, from and to the measured ones beside them; broken between these."""
    known = [row for row in series.all_rows if value(row) is not None]
    counts, values = list[int](), list[float | None]()
    for row, after in itertools.pairwise(known):
        if row.predicted or after.predicted:
            counts += [row.workers, after.workers, after.workers]
            values += [value(row), value(after), None]
    return counts, values


def _perfect_of(value: Value, growth: Callable[[int], float]) -> Callable[[ScalingSeries], Line]:
    """Values of perfect scaling: that of the smallest measured count, growing with the workers as `growth` does."""

    def perfect(series: ScalingSeries) -> Line:
        known = [row.workers for row in series.all_rows if value(row) is not None]
        measured = ((row.workers, found) for row in series.rows if (found := value(row)) is not None)
        base = next(measured, None)
        if base is None:
            return [], []
        return known, [base[1] * growth(workers) / growth(base[0]) for workers in known]

    return perfect


_FIXED = {WEAK: "same batch size at every count", STRONG: "same global batch size at every count"}


def words_of(table: ScalingTable) -> str:
    """What the figure shows, in sentences."""
    kinds = " and ".join(f"{kind} scaling ({_FIXED[kind]})" for kind in table.kind.split(" and "))
    of = "the settings that all counts have" if table.matched else "all complete trials"
    best = [
        name
        for name, there in (("threshold", table.trials.threshold), ("accuracy", table.accuracy))
        if there is not None
    ]
    soon = f"; to {' and '.join(best)}: best trial" if best else ""
    words = [f"{kinds}. Throughput and times: median of {of}{soon}."]
    if any(row.predicted for row in table.rows):
        words.append("Hollow: predicted, not run.")
    return " ".join(filter(None, [*words, oversubscribed_words(table), table.side_by_side]))
