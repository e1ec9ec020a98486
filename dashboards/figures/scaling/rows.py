"""The rows of the table of scaling: what a worker count does in a second, how long it trains, how soon it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import TrialRow

WEAK, STRONG = "weak", "strong"


@dataclass(frozen=True)
class ScalingRow:
    """A worker count of a series: what its trials did in a second, against the series' smallest count.

    `throughput` is in images a second, the median over `trials` complete ones; None where no trial says its images.
    `speedup` is its ratio to the smallest count's, `efficiency` that over the ratio of workers: in weak scaling the
    time of a step on the smallest count over that on this one. `to_threshold` is in seconds of training until the best
    trial's loss first came to the threshold, `to_accuracy` until its first evaluation that has the accuracy; None where
    it never did. `seconds` is the median training time of the same trials as the throughput, and `dollars` what that
    costs; None without a price. In a table of so many images both are of these, at this throughput. With
    `oversubscribed` these are of trials whose ranks shared cores or GPUs: the count has no others. A `predicted` row is
    a forecast, and its `trials` are settings.
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
    def measured(self) -> set[int]:
        """The counts that have a complete trial."""
        return {row.workers for row in self.rows if row.seconds is not None}

    @property
    def all_rows(self) -> list[ScalingRow]:
        """Measured and predicted ones, smallest count first."""
        return sorted((*self.rows, *self.predicted), key=lambda row: row.workers)
