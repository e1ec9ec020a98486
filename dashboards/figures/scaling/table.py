"""The table of scaling: the series of a sweep, of those that are drawn with it, and what is predicted of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dashboards.figures.base import Choices
from dashboards.figures.scaling.measured import Members, measured_row, members_of
from dashboards.figures.scaling.predicted import Predictions
from dashboards.figures.scaling.rows import STRONG, WEAK, ScalingRow, ScalingSeries
from dashboards.figures.tables import WORKERS, TrialTable
from dashboards.figures.tables.csv_text import csv_text
from dashboards.figures.words.labels import group_name
from sweeper.answers.forecast import check_counts
from sweeper.answers.side_by_side import side_by_side_words
from sweeper.errors import FigureError, SpecError
from sweeper.ranking.cost import dollars_per_second
from sweeper.store import Store


@dataclass(frozen=True)
class ScalingTable:
    """Scaling of a sweep, and of those that are drawn with it.

    Where all counts of a series have settings in common, batch size, rate and what else varies, throughputs and times
    are of these (`matched`), so that like is compared with like. `accuracy` is the one that was asked for. Times and
    costs are those of a whole trial, or of `images` images where so many were asked for.
    """

    trials: TrialTable
    matched: bool
    series: tuple[ScalingSeries, ...]
    accuracy: float | None = None
    images: int | None = None
    side_by_side: str = ""  # that times do not compare, since trials ran beside each other, in a sentence

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


def scaling_table(
    store: Store, trials: TrialTable, choices: Choices | None = None, others: Sequence[TrialTable] = ()
) -> ScalingTable:
    """Throughputs and times of all complete trials whose ranks shared no cores, and times to threshold and accuracy.

    Of a worker count that has oversubscribed trials only these count, and it is marked. Reads a curve per count.

    Raises:
        FigureError: no trial has a throughput, a sweep is given twice, an accuracy or a number of images that none can
            be, no trial was evaluated, or a forecast of a count that has run, or of which too little is known.
        SpecError: the sweep's step times cannot be forecast.
        StoreError: the store cannot be read.
    """
    choices = choices or Choices()
    tables = (trials, *others)
    _check(store, tables, choices)
    members = [one for table in tables for one in members_of(table, store.sweeps.find(table.sweep).spec.written)]
    names = _names(members, tables)
    made = [_series(store, one, name, choices.accuracy) for one, name in zip(members, names, strict=True)]
    if not any(row.throughput for series in made if series.sweep == trials.sweep for row in series.rows):
        raise FigureError(
            f"sweep {trials.name!r}: none of its complete trials says how many images it saw in how long",
            "wait until a trial is complete; commands report images=…",
        )
    if choices.forecast:
        made = _with_predictions(store, members, made, tables, choices.forecast)
    if choices.images is not None:
        rates = {table.sweep: table.rate for table in tables}
        made = [_of_images(series, choices.images, rates[series.sweep]) for series in made]
    matched = all(one.common for one in members)
    together = side_by_side_words(store, store.sweeps.find(trials.sweep))
    return ScalingTable(trials, matched, tuple(made), choices.accuracy, choices.images, together)


def _of_images(series: ScalingSeries, images: int, rate: float | None) -> ScalingSeries:
    """A series with the times and costs of so many images, at its throughputs; `rate` in dollars per worker and hour.

    Trials of one sweep need not see equally many: with `steps` those of more workers see more.
    """

    def of_images(row: ScalingRow) -> ScalingRow:
        seconds = images / row.throughput if row.throughput else None
        per_second = None if rate is None else dollars_per_second({WORKERS: row.workers}, rate)
        dollars = None if seconds is None or per_second is None else seconds * per_second
        return replace(row, seconds=seconds, dollars=dollars)

    return replace(series, rows=tuple(map(of_images, series.rows)), predicted=tuple(map(of_images, series.predicted)))


def _series(store: Store, members: Members, name: str, accuracy: float | None) -> ScalingSeries:
    rows: list[ScalingRow] = []
    for workers in members.counts:
        rows.append(measured_row(store, members, workers, base_of(rows), accuracy))
    return ScalingSeries(members.key, tuple(rows), members.kind, name, members.trials.sweep)


def base_of(rows: Sequence[ScalingRow]) -> tuple[int, float] | None:
    """The smallest count that has a throughput, and that."""
    return next(((row.workers, row.throughput) for row in rows if row.throughput is not None), None)


def _names(members: Sequence[Members], tables: Sequence[TrialTable]) -> list[str]:
    """As few words as tell the series apart: the sweep, the kind of scaling, what groups have beside workers."""
    alike = len({table.name for table in tables}) < len(tables)
    sweeps = {table.sweep: f"{table.name} ({table.sweep})" if alike else table.name for table in tables}
    kinds = len({one.kind for one in members}) > 1
    keys = len({repr(one.key) for one in members}) > 1
    named = []
    for one in members:
        words = [sweeps[one.trials.sweep]] if len(tables) > 1 else []
        words += [one.kind] if kinds else []
        words += [group_name(one.key)] if keys and one.key else []
        named.append(", ".join(words) or "measured")
    return named


def _with_predictions(
    store: Store,
    members: Sequence[Members],
    made: Sequence[ScalingSeries],
    tables: Sequence[TrialTable],
    counts: Sequence[int],
) -> list[ScalingSeries]:
    """The series with the counts that they have not run; a rival whose times cannot be forecast has none."""
    first, *rest = tables
    predictions: dict[str, Predictions] = {first.sweep: Predictions(store, first.sweep, first.rate)}
    for table in rest:
        try:
            predictions[table.sweep] = Predictions(store, table.sweep, table.rate)
        except SpecError:
            continue
    wanted = sorted(set(counts))
    found = [
        _predicted(series, one, predictions[series.sweep], wanted) if series.sweep in predictions else series
        for one, series in zip(members, made, strict=True)
    ]
    _check_predicted(first, [series for series in found if series.sweep in predictions], wanted)
    return found


def _predicted(
    series: ScalingSeries, members: Members, predictions: Predictions, counts: Sequence[int]
) -> ScalingSeries:
    """A series with the counts of which it has no complete trial, in place of what it says of these."""
    missing = [count for count in counts if count not in series.measured]
    predicted = predictions.rows(members, base_of(series.rows), missing)
    known = {row.workers for row in predicted}
    return replace(series, rows=tuple(row for row in series.rows if row.workers not in known), predicted=predicted)


def _check_predicted(first: TrialTable, series: Sequence[ScalingSeries], wanted: Sequence[int]) -> None:
    """Refuse counts that every series has run, and those of which nothing is known; raises FigureError."""
    for count in wanted:
        if all(count in one.measured for one in series):
            raise FigureError(
                f"sweep {first.name!r}: {count} worker{'s have' if count > 1 else ' has'} run already",
                "forecast counts that have not run",
            )
        if not any(row.workers == count for one in series for row in one.predicted):
            raise FigureError(
                f"sweep {first.name!r}: nothing is known of {count} workers: their batch is too large or too small, or "
                "no kind of step was taken by two worker counts",
                "forecast other counts",
            )


def _check(store: Store, tables: Sequence[TrialTable], choices: Choices) -> None:
    sweeps = [table.sweep for table in tables]
    for place, table in enumerate(tables):
        if table.sweep in sweeps[:place]:
            raise FigureError(f"sweep {table.name!r} ({table.sweep}) is in the figure already", "name it once")
    if choices.forecast:
        check_counts(choices.forecast)
    images = choices.images
    if images is not None and (isinstance(images, bool) or not isinstance(images, int) or images < 1):
        raise FigureError(f"images: {images!r} is not a number of images", "give a whole number above 0, say 60000")
    accuracy = choices.accuracy
    if accuracy is None:
        return
    if not 0 < accuracy <= 1:
        raise FigureError(f"accuracy: {accuracy} is not a share of the test set", "give one above 0, up to 1")
    if not any(store.attempts.evaluations_by_trial(table.sweep) for table in tables):
        raise FigureError(
            f"sweep {tables[0].name!r}: none of its trials was evaluated on the test set",
            "set trial.evaluate_every in its spec, and run it again",
        )


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
