"""The table of scaling: what worker counts do in a second, how long they train, and how soon they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import TrialRow, TrialTable
from dashboards.figures.tables.csv_text import csv_text

WEAK, STRONG = "weak", "strong"


@dataclass(frozen=True)
class ScalingRow:
    """A worker count of a series: what its trials did in a second, against the series' smallest count.

    `throughput` is in images a second, the median over `trials` complete ones; None where no trial says its images.
    `speedup` is its ratio to the smallest count's, `efficiency` that over the ratio of workers: in weak scaling the
    time of a step on the smallest count over that on this one. `to_threshold` is in seconds of training until the best
    trial's loss first came to the threshold, `to_accuracy` until its first evaluation that has the accuracy; None where
    it never did. `seconds` is the median training time of the same trials as the throughput, and `dollars` what that
    costs; None without a price. With `oversubscribed` these are of trials whose ranks shared cores or GPUs: the count
    has no others. A `predicted` row is a forecast, and its `trials` are settings.
    """

    workers: int
    throughput: float | None
    trials: int
    speedup: float | None
    efficiency: float | None
    best: TrialRow | None
    to_threshold: float | None
    oversubscribed: bool = False
    seconds: float | None = None
    dollars: float | None = None
    to_accuracy: float | None = None
    predicted: bool = False


@dataclass(frozen=True)
class ScalingSeries:
    """The worker counts of a sweep's trials of one `kind` that share `key`, which the groups have beside workers.

    The smallest count comes first. `kind` is "strong" where the batch of all workers together is fixed, else "weak":
    then that of each worker is. `predicted` are counts that have not run.
    """

    key: Mapping[str, Any]
    rows: tuple[ScalingRow, ...]
    kind: str = WEAK
    name: str = ""
    sweep: str = ""
    predicted: tuple[ScalingRow, ...] = ()

    @property
    def all_rows(self) -> list[ScalingRow]:
        """Measured and predicted ones, smallest count first."""
        return sorted((*self.rows, *self.predicted), key=lambda row: row.workers)


@dataclass(frozen=True)
class ScalingTable:
    """Scaling of a sweep, and of those that are drawn with it.

    Where all counts of a series have settings in common, batch size, rate and what else varies, throughputs and times
    are of these (`matched`), so that like is compared with like. `accuracy` is the one that was asked for.
    """

    trials: TrialTable
    matched: bool
    series: tuple[ScalingSeries, ...]
    accuracy: float | None = None

    @property
    def kind(self) -> str:
        """What the figure shows: "weak", "strong", or "weak and strong"."""
        return " and ".join(kind for kind in (WEAK, STRONG) if kind in {one.kind for one in self.series})

    @property
    def rows(self) -> Iterator[ScalingRow]:
        """All rows, predicted ones too."""
        return (row for one in self.series for row in one.all_rows)

    @property
    def counts(self) -> list[int]:
        """All worker counts, smallest first."""
        return sorted({row.workers for row in self.rows})


def oversubscribed_words(table: ScalingTable) -> str:
    """The worker counts whose throughput is of oversubscribed trials, in a sentence; empty where none is."""
    counts = sorted({row.workers for row in table.rows if row.oversubscribed})
    return f"Oversubscribed: {', '.join(map(str, counts))} workers, whose ranks shared cores or GPUs." if counts else ""


_MEASURED = (
    "images_per_second",
    "trials",
    "speedup",
    "efficiency",
    "best_trial",
    "seconds_to_threshold",
    "seconds",
    "dollars",
    "seconds_to_accuracy",
    "oversubscribed",
    "predicted",
    "scaling",
    "sweep",
)


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
            row.seconds,
            row.dollars,
            row.to_accuracy,
            row.oversubscribed,
            row.predicted,
            series.kind,
            series.sweep,
        ]
        for series in table.series
        for row in series.all_rows
    )
    return csv_text([*(f".{name}" if name in _MEASURED else name for name in names), "workers", *_MEASURED], lines)
