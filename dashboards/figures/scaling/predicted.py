"""Worker counts that nobody has run, by the machinery of `sweeper forecast`: throughput, training time and cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dashboards.figures.scaling.measured import Members, against, fixed_batch
from dashboards.figures.scaling.rows import STRONG, ScalingRow
from dashboards.figures.tables import TrialRow
from sweeper.store import Store

if TYPE_CHECKING:
    from sweeper.extrapolation import Forecaster, Setting


class Predictions:
    """Predicts series of one sweep.

    Raises:
        SpecError: the sweep's step times cannot be forecast, as `sweeper forecast` says.
        StoreError: the store cannot be read.
    """

    def __init__(self, store: Store, sweep: str, rate: float | None) -> None:
        from sweeper.extrapolation import Forecaster, runs_of  # loads scikit-learn

        runs = runs_of(store.sweeps.find(sweep), store.trials.of(sweep))
        self._settings: dict[str, Setting] = {run.trial: run.setting for run in runs}
        self._forecaster: Forecaster = Forecaster(runs, None, price=rate)

    def rows(self, members: Members, base: tuple[int, float] | None, counts: Sequence[int]) -> tuple[ScalingRow, ...]:
        """Those of the counts of which enough is known."""
        settings = self._settings_of(members)
        found = (self._row(settings, workers, base) for workers in counts)
        return tuple(row for row in found if row is not None)

    def _settings_of(self, members: Members) -> list[Setting]:
        """The settings that the series compares, with the batch that its kind fixes."""
        rows = [row for workers in members.counts for row in members.compared(workers)]
        known = [(self._settings[row.trial], row) for row in rows if row.trial in self._settings]
        # A setting that was run both ways is one, in whatever order its trials name what they were given.
        alike = {frozenset(setting.values): setting for setting in (_as_kind(one, members, row) for one, row in known)}
        return list(alike.values())

    def _row(self, settings: Sequence[Setting], workers: int, base: tuple[int, float] | None) -> ScalingRow | None:
        fits = [setting for setting in settings if setting.can_run(workers)]
        times = [one for setting in fits if (one := self._forecaster.times(setting, workers))]
        if not times:
            return None
        rate = statistics.median(one.images_per_second.value for one in times)
        costs = [one.dollars.value for one in times if one.dollars]
        speedup, efficiency = against(base or (workers, None), workers, rate)
        return ScalingRow(
            workers,
            rate,
            len(times),
            speedup,
            efficiency,
            best=None,
            to_threshold=None,
            seconds=statistics.median(one.seconds.value for one in times),
            dollars=statistics.median(costs) if costs else None,
            predicted=True,
        )


def _as_kind(setting: Setting, members: Members, row: TrialRow) -> Setting:
    """A trial's setting in a series: one of the other kind has its batch given the other way."""
    strong = members.kind == STRONG
    if (setting.global_batch_size is not None) == strong:
        return setting
    batch = round(fixed_batch(row, members.trials, members.kind))
    sizes = {"batch_size": None if strong else batch, "global_batch_size": batch if strong else None}
    values = tuple((name, sizes.get(name, value)) for name, value in setting.values)
    return replace(setting, values=values, batch_size=sizes["batch_size"], global_batch_size=sizes["global_batch_size"])
